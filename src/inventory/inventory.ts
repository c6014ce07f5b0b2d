import { lastVm } from '../cpi/disk/attach/attachment-record.ts';
import { label } from '../cpi/objects/labels.ts';
import { recordedDiskCids } from '../cpi/vm/recorded-pod.ts';
import type { VmSecret } from '../cpi/vm/vms.ts';
import type { KubernetesObject, Stored } from '../kubernetes/object.ts';
import { type ContainerStatus, type Pod, isPodReady } from '../kubernetes/types/pod.ts';
import type { PersistentVolumeClaim, VolumeSnapshot } from '../kubernetes/types/storage.ts';
import { type BoshName, boshNameOf } from './bosh-name.ts';
import { findOwners, type Owners } from './owners.ts';
import { formatSize, isKind, labelOf, recordOf } from './managed-objects.ts';
import type { ObjectLists } from './object-lists.ts';

export interface VmItem {
  readonly cid: string;
  readonly name: BoshName;
  /** As kubectl shows it: the phase, or the reason why a container waits. */
  readonly state: string;
  readonly restarts: number;
  readonly node: string | undefined;
  readonly addresses: readonly string[];
  readonly disks: readonly string[];
  readonly createdAt: string;
  readonly agentId: string | undefined;
  /** Absent if the pod does not exist. */
  readonly pod: Stored<Pod> | undefined;
  /** Absent if the Secret does not exist, or Secrets may not be listed. */
  readonly secret: Stored<VmSecret> | undefined;
}

export interface DiskItem {
  readonly cid: string;
  readonly name: BoshName;
  readonly state: string;
  readonly size: string;
  readonly storageClass: string | undefined;
  /** The VM that the disk is attached to. */
  readonly vm: string | undefined;
  /** The attachment pod, with the strategy `hot`. */
  readonly attachmentPod: Stored<Pod> | undefined;
  /** True if the disk was never attached and never got metadata: its creator may not know its cid. */
  readonly unclaimed: boolean;
  readonly createdAt: string;
  readonly claim: Stored<PersistentVolumeClaim>;
}

export interface SnapshotItem {
  readonly cid: string;
  readonly name: BoshName;
  readonly disk: string | undefined;
  readonly state: 'Ready' | 'Not ready' | 'Error' | 'Terminating';
  readonly size: string | undefined;
  readonly createdAt: string;
  readonly error: string | undefined;
}

export interface NetworkItem {
  readonly cid: string;
  readonly kind: 'policy' | 'attachment';
  readonly range: string | undefined;
  readonly createdAt: string;
  readonly isTerminating: boolean;
}

/** The BOSH objects of a cluster. */
export interface Inventory {
  readonly vms: readonly VmItem[];
  readonly disks: readonly DiskItem[];
  readonly snapshots: readonly SnapshotItem[];
  readonly networks: readonly NetworkItem[];
}

/** Joins the objects of the cluster to VMs, disks, snapshots and networks, sorted by their names. */
export function takeInventory(lists: ObjectLists): Inventory {
  const owners = findOwners(lists);
  const attachmentPods = (lists.diskPods ?? []).filter(isKind('attachment'));
  const vms = findVms(
    lists,
    Map.groupBy(attachmentPods, (pod) => labelOf(pod, label.vmId)),
    owners,
  );
  const attachmentsOfDisk = Map.groupBy(attachmentPods, (pod) => labelOf(pod, label.diskId));
  const vmOfDisk = new Map(vms.flatMap(({ cid, disks }) => disks.map((disk) => [disk, cid] as const)));
  return {
    vms: sortByName(vms),
    disks: sortByName(
      (lists.claims ?? []).map((claim) => toDisk(claim, { owners, vmOfDisk, attachmentsOfDisk })),
    ),
    snapshots: sortByName((lists.snapshots ?? []).filter(isKind('snapshot')).map(toSnapshot)),
    networks: [
      ...(lists.policies ?? []).map((object) => toNetwork(object, 'policy')),
      ...(lists.definitions ?? []).map((object) => toNetwork(object, 'attachment')),
    ],
  };
}

const sortByName = <T extends { readonly cid: string; readonly name: BoshName }>(items: readonly T[]): T[] =>
  items.toSorted(
    ({ name: one, cid }, { name: other, cid: otherCid }) =>
      compare(one.deployment, other.deployment) ||
      compare(one.instance, other.instance) ||
      cid.localeCompare(otherCid),
  );

/** Sorts numbers in names by their value, and items without a name last. */
const compare = (one: string | undefined, other: string | undefined): number =>
  Number(one === undefined) - Number(other === undefined) || collator.compare(one ?? '', other ?? '');

const collator = new Intl.Collator('en', { numeric: true });

/** Without the right to list pods no VM is known: a VM that has a pod would look like one without. */
function findVms(
  { vmPods, vmSecrets, claims }: ObjectLists,
  attachmentsOfVm: ReadonlyMap<string | undefined, readonly Pod[]>,
  owners: Owners,
): VmItem[] {
  if (vmPods === undefined) return [];
  const podOf = new Map(vmPods.filter(isKind('vm')).map((pod) => [pod.metadata.name, pod]));
  const secretOf = new Map(
    (vmSecrets ?? []).filter(isKind('vm')).map((secret) => [secret.metadata.name, secret]),
  );
  const diskOf = new Map(
    (claims ?? []).map((claim) => [labelOf(claim, label.vmId) ?? lastVm(claim)?.cid, claim]),
  );
  return [...new Set([...podOf.keys(), ...secretOf.keys()])].map((cid) => {
    const pod = podOf.get(cid);
    const secret = secretOf.get(cid);
    const attached = (attachmentsOfVm.get(cid) ?? []).map((each) => labelOf(each, label.diskId) ?? '');
    const owner = secret ?? pod;
    // Without its pod and its record, only the VM's disk knows its name.
    const described = pod ?? (secret && recordOf(secret)) ?? diskOf.get(cid) ?? { metadata: { name: cid } };
    return {
      ...ofPod(pod),
      ...{ cid, pod, secret },
      name: withOwner(boshNameOf(described), owner && owners.get(labelOf(owner, label.directorId))),
      disks: [...attached, ...(pod === undefined ? [] : recordedDiskCids(pod))],
      createdAt: (pod ?? secret)?.metadata.creationTimestamp ?? '',
      agentId: owner && labelOf(owner, label.agentId),
    };
  });
}

/** An object without metadata has the same creator as the others with its director id. */
const withOwner = (name: BoshName, owner: BoshName | undefined): BoshName => ({
  ...name,
  isOfCreateEnv: name.isOfCreateEnv ?? owner?.isOfCreateEnv,
});

function ofPod(pod: Pod | undefined): Pick<VmItem, 'state' | 'restarts' | 'node' | 'addresses'> {
  const { podIP, podIPs } = pod?.status ?? {};
  return {
    state: stateOf(pod),
    restarts: restartsOf(pod),
    node: pod?.spec.nodeName,
    addresses: podIPs?.map(({ ip }) => ip) ?? (podIP === undefined ? [] : [podIP]),
  };
}

/**
 * Counts as kubectl's column RESTARTS: an init container that has ended counts only until all have ended,
 * because the containers of a restarted pod would count twice.
 */
function restartsOf(pod: Pod | undefined): number {
  const { initContainerStatuses: inits = [], containerStatuses = [], conditions } = pod?.status ?? {};
  const sumOf = (statuses: readonly ContainerStatus[]): number =>
    statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
  if (conditions?.some(({ type, status }) => type === 'Initialized' && status === 'False') === true)
    return sumOf(inits);
  const isSidecar = ({ name }: ContainerStatus): boolean =>
    pod?.spec.initContainers?.find((each) => each.name === name)?.restartPolicy === 'Always';
  return sumOf([...inits.filter(isSidecar), ...containerStatuses]);
}

export const containersOf = (pod: Pod | undefined): readonly ContainerStatus[] => [
  ...(pod?.status?.initContainerStatuses ?? []),
  ...(pod?.status?.containerStatuses ?? []),
];

function stateOf(pod: Pod | undefined): string {
  if (pod === undefined) return 'No pod';
  if (pod.metadata.deletionTimestamp !== undefined) return 'Terminating';
  const waiting = containersOf(pod).find(
    ({ state }) => (state?.waiting?.reason ?? 'PodInitializing') !== 'PodInitializing',
  );
  const reason = pod.status?.reason ?? waiting?.state?.waiting?.reason;
  if (reason !== undefined) return reason;
  const phase = pod.status?.phase ?? 'Pending';
  return phase === 'Running' && !isPodReady(pod) ? 'Not ready' : phase;
}

interface DiskSurroundings {
  readonly owners: Owners;
  readonly vmOfDisk: ReadonlyMap<string, string>;
  readonly attachmentsOfDisk: ReadonlyMap<string | undefined, readonly Stored<Pod>[]>;
}

function toDisk(
  claim: Stored<PersistentVolumeClaim>,
  { owners, vmOfDisk, attachmentsOfDisk }: DiskSurroundings,
): DiskItem {
  const { name: cid, deletionTimestamp, creationTimestamp, labels } = claim.metadata;
  return {
    cid,
    name: diskName(claim, owners.get(labelOf(claim, label.directorId))),
    state: deletionTimestamp === undefined ? (claim.status?.phase ?? 'Pending') : 'Terminating',
    size:
      formatSize(claim.status?.capacity?.['storage'] ?? claim.spec.resources?.requests?.['storage']) ?? '-',
    storageClass: claim.spec.storageClassName,
    vm: vmOfDisk.get(cid) ?? labels?.[label.vmId],
    attachmentPod: attachmentsOfDisk.get(cid)?.[0],
    unclaimed: labels?.[label.unclaimed] !== undefined,
    createdAt: creationTimestamp ?? '',
    claim,
  };
}

function diskName(claim: KubernetesObject, owner: BoshName | undefined): BoshName {
  const name = withOwner(boshNameOf(claim), owner);
  // With create-env, each deployment has a director id of its own.
  return owner?.isOfCreateEnv === true ? { ...name, deployment: name.deployment ?? owner.deployment } : name;
}

function toSnapshot(snapshot: Stored<VolumeSnapshot>): SnapshotItem {
  const { name: cid, labels, creationTimestamp, deletionTimestamp } = snapshot.metadata;
  const { readyToUse, restoreSize, error } = snapshot.status ?? {};
  const state = error === undefined ? (readyToUse === true ? 'Ready' : 'Not ready') : 'Error';
  return {
    cid,
    name: boshNameOf(snapshot),
    disk: labels?.[label.diskId],
    state: deletionTimestamp === undefined ? state : 'Terminating',
    size: formatSize(restoreSize),
    createdAt: creationTimestamp ?? '',
    error: error?.message,
  };
}

function toNetwork({ metadata }: KubernetesObject, kind: NetworkItem['kind']): NetworkItem {
  return {
    cid: metadata.name,
    kind,
    range: metadata.annotations?.['bosh.cloudfoundry.org/range'],
    createdAt: metadata.creationTimestamp ?? '',
    isTerminating: metadata.deletionTimestamp !== undefined,
  };
}
