import type { CallContext } from '../../call.ts';
import type { Pod, Toleration, Container, Volume } from '../../../kubernetes/types/pod.ts';
import {
  vmContainerStatus,
  mountContainer,
  cpiContainerRequests,
  hubVolume,
  unlimitedTolerations,
} from '../../objects/layout.ts';
import { label, baseLabels, annotation } from '../../objects/labels.ts';
import { holdScript } from './scripts/hold.ts';
import { attachmentPodName } from '../../objects/names.ts';
import { sweepScript } from './scripts/volume-functions.ts';

export interface AttachmentPlan {
  readonly diskCid: string;
  /** The namespace of the claim. */
  readonly namespace: string;
  /** The VM's current pod. It is scheduled, and the attachment pod copies parts of it. */
  readonly vm: Pod & { readonly metadata: { readonly uid: string } };
  readonly nodeName: string;
  readonly kubeletRootDirectory: string;
  readonly directorUuid: string | undefined;
  /** The disk may still be mounted in the VM from an earlier attachment pod. */
  readonly adoptsMount?: boolean;
}

const yearSeconds = 31_536_000;

/** Returns the node and the namespace of the pods that work in a VM's hub, and what they mount. */
export function hubPodPlan(call: CallContext, vm: AttachmentPlan['vm']): Omit<AttachmentPlan, 'diskCid'> {
  return {
    namespace: call.diskNamespace,
    vm,
    nodeName: vm.spec.nodeName ?? '',
    kubeletRootDirectory: call.config.kubernetes.kubeletRootDirectory,
    directorUuid: call.directorUuid,
  };
}

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
export function buildAttachmentPod(plan: AttachmentPlan): Pod {
  const { vm } = plan;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: buildMetadata(plan),
    spec: {
      restartPolicy: 'Always',
      hostNetwork: true,
      hostPID: true,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: yearSeconds,
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
      containers: [buildMountContainer(plan)],
      volumes: volumesOf(plan),
    },
  };
}

function buildMetadata({
  diskCid,
  namespace,
  vm,
  directorUuid,
  adoptsMount,
}: AttachmentPlan): Pod['metadata'] {
  const agentId = vm.metadata.labels?.[label.agentId];
  return {
    name: attachmentPodName(diskCid),
    namespace,
    labels: {
      ...baseLabels({ directorUuid }, 'attachment'),
      [label.diskId]: diskCid,
      [label.vmId]: vm.metadata.name,
      // without the labels of group and deployment: a Service that selects them must not select a pod of the
      // host network
      ...(agentId !== undefined && { [label.agentId]: agentId }),
    },
    annotations: {
      'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
      [annotation.vmUid]: vm.metadata.uid,
      [annotation.vmNamespace]: vm.metadata.namespace,
      ...(adoptsMount === true && { [annotation.adoptsMount]: 'true' }),
    },
  };
}

/**
 * The requests of an attachment pod. Without one for ephemeral storage, a kubelet that runs short of it would
 * evict attachment pods first.
 */
export const attachmentRequests = { ...cpiContainerRequests, 'ephemeral-storage': '16Mi' } as const;

const buildMountContainer = ({ diskCid, vm }: AttachmentPlan): Container => ({
  name: mountContainer,
  image: vmContainerStatus(vm.spec.containers)?.image ?? '',
  command: ['/bin/sh', '-c', holdScript, mountContainer, diskCid, vm.metadata.uid],
  resources: { requests: attachmentRequests },
  securityContext: { privileged: true, runAsUser: 0 },
  terminationMessagePolicy: 'FallbackToLogsOnError',
  volumeMounts: [
    { name: 'volume', mountPath: '/volume' },
    { name: 'scratch', mountPath: '/scratch' },
    { name: 'vm-hub', mountPath: '/hub', mountPropagation: 'Bidirectional' },
  ],
});

function volumesOf({ diskCid, kubeletRootDirectory, vm }: AttachmentPlan): Volume[] {
  const vmUid = vm.metadata.uid;
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
  const identity = ({ key, operator = 'Equal', value, effect }: Toleration): string =>
    JSON.stringify([key, operator, value, effect]);
  return [...new Map(all.map((toleration) => [identity(toleration), toleration])).values()];
}

/**
 * Returns the pod that removes leftover mounts from a VM's hub: an attachment pod without a disk, named after
 * the VM, so that policies and controllers treat it like the VM's attachment pods.
 */
export function buildSweeperPod(plan: Omit<AttachmentPlan, 'diskCid'>): Pod {
  const pod = buildAttachmentPod({ ...plan, diskCid: plan.vm.metadata.name });
  const { containers, volumes = [] } = pod.spec;
  const sweeping = (container: Container): Container => ({
    ...container,
    command: (container.command ?? []).map((arg, index) => (index === 2 ? sweepScript : arg)),
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
