import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Container, Pod, SchedulingGate } from '../../kubernetes/pod.ts';
import { annotation } from '../labels.ts';
import { isDiskCid } from '../names.ts';
import { prepareContainer, vmContainer } from '../own-containers.ts';

/** The part of v1.Secret that we write or read. */
export interface VmSecret extends KubernetesObject {
  type: string;
  data: Record<string, string>;
}

/** The key of the VM's Secret that holds its pod as it is to be, JSON. Nothing in it is secret. */
export const podKey = 'pod.json';
const diskDirectory = '/warden-cpi-dev/disks';
const managedFields = 'bosh.cloudfoundry.org/';
/** Keeps a new pod from the scheduler until the VM's record has been read once more (settle-pod.ts). */
const gate = { name: `${managedFields}recorded` };

export const encodePod = (pod: Pod): string => Buffer.from(JSON.stringify(pod), 'utf8').toString('base64');

/** The recorded pod of a VM, owned by that Secret; undefined where none is recorded. */
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

/** The cids of the disks that are volumes of a VM's pod, in the order of their attachment. */
export function recordedDiskCids({ spec }: Pod): string[] {
  return (spec.volumes ?? [])
    .filter(({ name, persistentVolumeClaim }) => isDiskCid(name) && persistentVolumeClaim?.claimName === name)
    .map(({ name }) => name);
}

/**
 * The pod with exactly those disks. Its init container gets them too, to make `store` in each volume: the
 * hint is a folder inside the volume, so that a volume that is not there is a path that is not there.
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
 * The pod with the labels and annotations of ours that the living one got meanwhile; a CNI's are not
 * carried over.
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

/** True where a repeated create_vm would make the same VM. */
export const isSameDigest = (left: Pod | undefined, right: Pod): boolean =>
  left?.metadata.annotations?.[annotation.specDigest] === right.metadata.annotations?.[annotation.specDigest];

/** The pod as it is created: `openGate` of settle-pod.ts removes the gate. */
export const withGate = (pod: Pod): Pod => ({ ...pod, spec: { ...pod.spec, schedulingGates: [gate] } });

export const isGated = ({ spec }: Pod): boolean =>
  (spec.schedulingGates ?? []).some(({ name }) => name === gate.name);

/** The gates of a pod without ours: an admission webhook of the cluster may have added others. */
export const otherGates = ({ spec }: Pod): SchedulingGate[] =>
  (spec.schedulingGates ?? []).filter(({ name }) => name !== gate.name);
