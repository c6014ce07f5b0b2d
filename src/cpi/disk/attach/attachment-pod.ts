import type { Container, Pod, Toleration, Volume } from '../../../kubernetes/types/pod.ts';
import { annotation, baseLabels, label } from '../../objects/labels.ts';
import { attachmentPodName } from '../../objects/names.ts';
import {
  unlimitedTolerations,
  hubVolume,
  cpiContainerRequests,
  mountContainer,
  vmContainerStatus,
} from '../../objects/layout.ts';
import { holdScript } from './scripts/hold.ts';
import { sweepScript, mountFailedExit } from './scripts/volume-functions.ts';

export interface AttachmentPlan {
  readonly diskCid: string;
  /** The namespace of the claim. */
  readonly namespace: string;
  /** The VM's current pod. It is scheduled, and the attachment pod copies parts of it. */
  readonly vm: Pod;
  readonly nodeName: string;
  readonly kubeletRootDirectory: string;
  readonly directorUuid: string | undefined;
  /** The disk may still be mounted in the VM from an earlier attachment pod. */
  readonly adoptsMount?: boolean;
}

const holdSeconds = 31_536_000;

/** An attachment pod stays on a cordoned node or a node under pressure, because its VM stays there, too. */
const nodeConditionTaints: readonly Toleration[] = [
  'unschedulable',
  'disk-pressure',
  'memory-pressure',
  'pid-pressure',
].map((condition) => ({ key: `node.kubernetes.io/${condition}`, operator: 'Exists', effect: 'NoSchedule' }));

/**
 * Returns the pod that attaches one disk to one VM. It is pinned by affinity, not by nodeName, so that the
 * scheduler binds a claim that waits for its first consumer. Its termination grace period is one year: at the
 * end of the period the kubelet kills the container and unmounts the volume under the VM. The container exits
 * by itself as soon as nothing uses the disk. The pod has no ownerReference, so deleting the VM does not
 * delete it.
 */
export function attachmentPod(plan: AttachmentPlan): Pod {
  const { diskCid, vm } = plan;
  const image = vmContainerStatus(vm.spec.containers)?.image ?? '';
  const uid = vm.metadata.uid ?? '';
  const agentId = vm.metadata.labels?.[label.agentId];
  const mounts = {
    scratch: { name: 'scratch', mountPath: '/scratch' },
    volume: { name: 'volume', mountPath: '/volume' },
  };
  const holder: Container = {
    name: mountContainer,
    image,
    command: ['/bin/sh', '-c', holdScript, mountContainer, diskCid, uid],
    // without a request for ephemeral storage, a kubelet that runs short of it would evict attachment pods
    // first
    resources: { requests: { ...cpiContainerRequests, 'ephemeral-storage': '16Mi' } },
    securityContext: { privileged: true, runAsUser: 0 },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      mounts.volume,
      mounts.scratch,
      { name: 'vm-hub', mountPath: '/hub', mountPropagation: 'Bidirectional' },
    ],
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: attachmentPodName(diskCid),
      namespace: plan.namespace,
      labels: {
        ...baseLabels(plan, 'attachment'),
        [label.diskId]: diskCid,
        [label.vmId]: vm.metadata.name ?? '',
        // without the labels of group and deployment: a Service that selects them must not select a pod of
        // the host network
        ...(agentId !== undefined && { [label.agentId]: agentId }),
      },
      annotations: {
        'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
        [annotation.vmUid]: uid,
        [annotation.vmNamespace]: vm.metadata.namespace ?? '',
        ...(plan.adoptsMount === true && { [annotation.adoptsMount]: 'true' }),
      },
    },
    spec: {
      restartPolicy: 'Always',
      hostNetwork: true,
      hostPID: true,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: holdSeconds,
      ...(vm.spec.priorityClassName !== undefined && { priorityClassName: vm.spec.priorityClassName }),
      ...(vm.spec.imagePullSecrets !== undefined && { imagePullSecrets: vm.spec.imagePullSecrets }),
      tolerations: tolerationsOf(vm),
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchFields: [{ key: 'metadata.name', operator: 'In', values: [plan.nodeName] }] },
            ],
          },
        },
      },
      containers: [holder],
      volumes: volumesOf(plan, uid),
    },
  };
}

function volumesOf({ diskCid, kubeletRootDirectory }: AttachmentPlan, vmUid: string): Volume[] {
  const hub = `${kubeletRootDirectory}/pods/${vmUid}/volumes/kubernetes.io~empty-dir/${hubVolume}`;
  return [
    { name: 'volume', persistentVolumeClaim: { claimName: diskCid } },
    // Only the VM's init container makes this directory, inside the tmpfs: without the directory the pod does
    // not start. It is not mounted: root of the VM may have put a link there, which a kubelet follows.
    { name: 'disks', hostPath: { path: `${hub}/disks`, type: 'Directory' } },
    { name: 'vm-hub', hostPath: { path: hub, type: 'Directory' } },
    { name: 'scratch', emptyDir: {} },
  ];
}

/**
 * Returns the VM's tolerations without `out-of-service`, which would keep the volume on a node that an
 * operator declared lost.
 */
function tolerationsOf(vm: Pod): Toleration[] {
  const own = (vm.spec.tolerations ?? []).filter(
    ({ key }) => key !== undefined && key !== 'node.kubernetes.io/out-of-service',
  );
  const all = [...own, ...unlimitedTolerations, ...nodeConditionTaints];
  const words = ({ key, operator = 'Equal', value, effect }: Toleration): string =>
    JSON.stringify([key, operator, value, effect]);
  return [...new Map(all.map((toleration) => [words(toleration), toleration])).values()];
}

/**
 * Returns the pod that removes leftover mounts from a VM's hub: an attachment pod without a disk, named after
 * the VM, so that policies and controllers treat it like the VM's attachment pods.
 */
export function sweeperPod(plan: Omit<AttachmentPlan, 'diskCid'>): Pod {
  const pod = attachmentPod({ ...plan, diskCid: plan.vm.metadata.name ?? '' });
  const { containers, volumes = [] } = pod.spec;
  const sweeping = (container: Container): Container => ({
    ...container,
    command: (container.command ?? []).map((word, index) => (index === 2 ? sweepScript : word)),
    volumeMounts: (container.volumeMounts ?? []).filter(({ name }) => name !== 'volume'),
  });
  return {
    ...pod,
    spec: {
      ...pod.spec,
      terminationGracePeriodSeconds: 30,
      containers: containers.map(sweeping),
      volumes: volumes.filter(({ name }) => name !== 'volume'),
    },
  };
}

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

const mountContainerStatus = (pod: Pod): ContainerStatus | undefined =>
  pod.status?.containerStatuses?.find(({ name }) => name === mountContainer);

/** Returns true while the mount container runs: it can report then whether the volume is in the VM. */
export const isRunning = (pod: Pod): boolean => mountContainerStatus(pod)?.state?.running !== undefined;

/**
 * Returns why the last start of the mount container could not mount the volume in the VM; undefined if it
 * could, or has not ended.
 */
export function mountFailure(pod: Pod): string | undefined {
  const { state, lastState } = mountContainerStatus(pod) ?? {};
  if (state?.running !== undefined) return undefined;
  const ended = state?.terminated ?? lastState?.terminated;
  if (ended?.exitCode !== mountFailedExit) return undefined;
  return ended.message?.trim() ?? `mounting it failed with exit code ${ended.exitCode}`;
}

/**
 * Returns true if the pod is terminal (Failed or Succeeded): evicted, shut down with its node, or rejected by
 * the kubelet after its restart. Its status may list no container (kubernetes: pkg/kubelet eviction,
 * nodeshutdown, rejectPod). Its mount may still be in the VM.
 */
export const isTerminal = ({ status }: Pod): boolean =>
  status?.phase === 'Failed' || status?.phase === 'Succeeded';

/**
 * Returns true for an attachment pod that was made when the disk may still have been mounted from an earlier
 * one.
 */
export const takesOver = ({ metadata }: Pod): boolean =>
  metadata.annotations?.[annotation.adoptsMount] === 'true';

/** Returns true if the mount container ever ran. */
export function hasStarted(pod: Pod): boolean {
  const { state, lastState } = mountContainerStatus(pod) ?? {};
  return [state?.running, state?.terminated, lastState?.terminated].some((one) => one !== undefined);
}

/**
 * Returns true if the disk may be mounted in the VM: the mount container has run (or adopted an existing
 * mount) and did not report a mount failure.
 */
export const mayBeMounted = (pod: Pod): boolean =>
  (hasStarted(pod) || takesOver(pod)) && mountFailure(pod) === undefined;
