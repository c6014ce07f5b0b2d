import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Container, Pod, SchedulingGate } from '../../kubernetes/pod.ts';
import { annotation } from '../labels.ts';
import { isDiskCid } from '../names.ts';
import { prepareContainer, vmContainer } from '../own-containers.ts';

/** The part of v1.Secret that the CPI writes or reads. */
export interface VmSecret extends KubernetesObject {
  type: string;
  data: Record<string, string>;
}

/** The key in the VM's Secret with the desired pod as JSON. It contains nothing secret. */
export const podKey = 'pod.json';
const diskDirectory = '/warden-cpi-dev/disks';
const managedFields = 'bosh.cloudfoundry.org/';
/**
 * The gate that keeps a new pod from the scheduler until the VM's record has been read once more
 * (settle-pod.ts).
 */
const gate = { name: `${managedFields}recorded` };

export const encodePod = (pod: Pod): string => Buffer.from(JSON.stringify(pod), 'utf8').toString('base64');

/** Returns the recorded pod of a VM, owned by that Secret; undefined if there is no record. */
export function recordedPod({ metadata, data }: VmSecret): Pod | undefined {
  const text = data[podKey];
  if (text === undefined) return undefined;
  const pod = JSON.parse(Buffer.from(text, 'base64').toString('utf8')) as Pod;
  const { name = '', uid = '' } = metadata;
  return {
    ...pod,
    metadata: { ...pod.metadata, ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name, uid }] },
  };
}

/** Returns the cids of the disks that are volumes of a VM's pod, in the order of their attachment. */
export function recordedDiskCids({ spec }: Pod): string[] {
  return (spec.volumes ?? [])
    .filter(({ name, persistentVolumeClaim }) => isDiskCid(name) && persistentVolumeClaim?.claimName === name)
    .map(({ name }) => name);
}

/**
 * Returns the pod with exactly those disks. Mounts the disks in the init container too, which creates the
 * folder `store` in each. The disk hint is that folder: if a volume is not mounted, the hint does not exist.
 */
export function withDisks(pod: Pod, cids: readonly string[]): Pod {
  const former = new Set(recordedDiskCids(pod));
  const mounted = (container: Container, directory: string): Container => ({
    ...container,
    volumeMounts: [
      ...(container.volumeMounts ?? []).filter(({ name }) => !former.has(name)),
      ...cids.map((cid) => ({ name: cid, mountPath: `${directory}/${cid}` })),
    ],
  });
  const { initContainers, containers, volumes = [] } = pod.spec;
  const each = (list: readonly Container[], name: string, directory: string): Container[] =>
    list.map((container) => (container.name === name ? mounted(container, directory) : container));
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(initContainers !== undefined && {
        initContainers: each(initContainers, prepareContainer, '/volumes'),
      }),
      containers: each(containers, vmContainer, diskDirectory),
      volumes: [
        ...volumes.filter(({ name }) => !former.has(name)),
        ...cids.map((cid) => ({ name: cid, persistentVolumeClaim: { claimName: cid } })),
      ],
    },
  };
}

/**
 * Copies the CPI's labels and annotations of the active pod, which it may have got since its creation, to
 * `pod`. Does not copy those of a CNI plugin.
 */
export function copyMetadata(pod: Pod, living: Pod | undefined): Pod {
  if (living === undefined) return pod;
  const { labels = {}, annotations = {} } = living.metadata;
  const only = (entries: Record<string, string>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(entries).filter(
        ([key]) => key.startsWith(managedFields) && key !== annotation.changedBy,
      ),
    );
  const foreign = (entries: Record<string, string> = {}): Record<string, string> =>
    Object.fromEntries(Object.entries(entries).filter(([key]) => !key.startsWith(managedFields)));
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...foreign(pod.metadata.labels), ...only(labels) },
      annotations: { ...foreign(pod.metadata.annotations), ...only(annotations) },
    },
  };
}

/** True if a repeated create_vm would create the same VM. */
export const isSameDigest = (left: Pod | undefined, right: Pod): boolean =>
  left?.metadata.annotations?.[annotation.specDigest] === right.metadata.annotations?.[annotation.specDigest];

/** Adds the gate with which the pod is created; `openGate` of settle-pod.ts removes it. */
export const withGate = (pod: Pod): Pod => ({ ...pod, spec: { ...pod.spec, schedulingGates: [gate] } });

export const isGated = ({ spec }: Pod): boolean =>
  (spec.schedulingGates ?? []).some(({ name }) => name === gate.name);

/**
 * Returns the gates of a pod without the CPI's: an admission webhook of the cluster may have added others.
 */
export const otherGates = ({ spec }: Pod): SchedulingGate[] =>
  (spec.schedulingGates ?? []).filter(({ name }) => name !== gate.name);
