import { annotation, label } from '../cpi/objects/labels.ts';
import type { VmSecret } from '../cpi/vm/vms.ts';
import type { KubernetesObject, Stored } from '../kubernetes/object.ts';
import type { PersistentVolume, PersistentVolumeClaim, VolumeSnapshot } from '../kubernetes/types/storage.ts';
import { formatSize, isKind, labelOf, recordOf } from './managed-objects.ts';
import {
  type ListName,
  type ListReader,
  type Namespaces,
  type ObjectLists,
  orphanLists,
  readLists,
} from './object-lists.ts';

/** An object that a killed CPI call, or a user who deleted a VM's pod, may have left. */
export interface Orphan {
  readonly what:
    | 'VM'
    | 'disk'
    | 'replaced disk'
    | 'snapshot'
    | 'copy'
    | 'left copy'
    | 'helper pod'
    | 'helper snapshot'
    | 'attachment'
    | 'released volume';
  readonly name: string;
  /**
   * The disk that the object is a snapshot or a copy of, helps to copy, or attaches. For a replaced disk, the
   * disk that replaced it. For a volume, the deleted disk or the claim of a deleted VM.
   */
  readonly disk: string | undefined;
  readonly createdAt: string;
  /** For a disk, a snapshot and a volume. */
  readonly size: string | undefined;
  readonly object: Stored<KubernetesObject>;
}

export interface Orphans {
  /** The orphans, oldest first. */
  readonly found: readonly Orphan[];
  /** The lists that the account may not read, so that orphans may be missing. */
  readonly unread: readonly ListName[];
}

/** Returns the CPI's objects that killed calls, or deletions by other clients, may have left. Reads only. */
export async function listOrphans(
  api: ListReader,
  namespaces: Namespaces,
): Promise<Orphans & { readonly lists: ObjectLists }> {
  const lists = await readLists(api, namespaces, orphanLists);
  const unread = orphanLists.filter((name) => lists[name] === undefined);
  return { found: findOrphans(lists, namespaces), unread, lists };
}

/** The objects of one namespace that belong to VMs, in the parts that decide. */
interface ClusterObjects {
  readonly claims: readonly Stored<PersistentVolumeClaim>[];
  /** Attachment pods and helper pods. */
  readonly pods: readonly Stored<KubernetesObject>[];
  readonly snapshots: readonly Stored<VolumeSnapshot>[];
  /** Undefined if the account may not read them: then no VM and no attachment is an orphan. */
  readonly vmPods: readonly Stored<KubernetesObject>[] | undefined;
  readonly vmSecrets: readonly Stored<VmSecret>[];
  /** The namespace of `vmPods` and `vmSecrets`. An attachment pod may belong to a VM in another namespace. */
  readonly vmNamespace: string;
  /** The volumes whose claims the CPI has deleted. */
  readonly volumes: readonly Stored<PersistentVolume>[];
}

/**
 * Names that the CPI gives to claims of disks and of VMs (src/cpi/objects/names.ts, src/cpi/vm/claims.ts).
 */
const diskName = /^disk-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;
const vmVolumeName = /^vm-.*-(?:state|data)$/u;

/**
 * Returns true if the volume belonged to the deleted claim of a disk or a VM and was retained. The labels
 * were on the claim, not on the volume, so only the claim's name can tell.
 */
function isReleased({ spec, status }: PersistentVolume, { vms, disks }: Namespaces): boolean {
  const { claimRef, persistentVolumeReclaimPolicy: policy } = spec;
  if (status?.phase !== 'Released' || policy !== 'Retain' || claimRef === undefined) return false;
  const { namespace, name } = claimRef;
  return (namespace === disks && diskName.test(name)) || (namespace === vms && vmVolumeName.test(name));
}

/**
 * Returns as orphans, oldest first:
 * - a VM that create_vm has not finished and that has no metadata;
 * - an unclaimed disk that no VM uses;
 * - every snapshot, because its mark stays;
 * - a copy that a disk names, or that no disk names and that has replaced none, and the helper objects of a
 *   copy;
 * - a disk that was replaced by a copy;
 * - an attachment pod whose VM no longer exists;
 * - a volume that outlived the claim of a disk or a VM.
 */
export function findOrphans(lists: ObjectLists, namespaces: Namespaces): Orphan[] {
  const objects: ClusterObjects = {
    claims: lists.claims ?? [],
    pods: lists.diskPods ?? [],
    snapshots: lists.snapshots ?? [],
    vmPods: lists.vmPods?.filter(isKind('vm')),
    vmSecrets: (lists.vmSecrets ?? []).filter(isKind('vm')),
    vmNamespace: namespaces.vms,
    volumes: (lists.volumes ?? []).filter((volume) => isReleased(volume, namespaces)),
  };
  const { pods: podsOfDisks, snapshots, volumes } = objects;
  const copies = new DiskCopies(objects.claims.filter(isKind('disk')));
  return [
    ...unfinishedVms(objects).map((secret) => orphan(secret, 'VM', undefined)),
    ...attachmentsOfDeletedVms(objects).map((pod) => orphan(pod, 'attachment', labelOf(pod, label.diskId))),
    ...orphanedDisks(objects, copies),
    ...snapshots
      .filter(isKind('snapshot'))
      .map((snapshot) => orphan(snapshot, 'snapshot', labelOf(snapshot, label.diskId))),
    ...snapshots
      .filter(isKind('copy'))
      .map((snapshot) => orphan(snapshot, 'helper snapshot', copies.diskOf(snapshot.metadata.name.slice(5)))),
    ...podsOfDisks
      .filter(isKind('copy'))
      .map((pod) => orphan(pod, 'helper pod', copies.diskOf(labelOf(pod, label.diskId)))),
    ...volumes.map((volume) => orphan(volume, 'released volume', volume.spec.claimRef?.name)),
  ].toSorted(
    (one, other) => one.createdAt.localeCompare(other.createdAt) || one.name.localeCompare(other.name),
  );
}

function orphan(object: Stored<KubernetesObject>, what: Orphan['what'], disk: string | undefined): Orphan {
  const { name, creationTimestamp: createdAt = '' } = object.metadata;
  return { what, disk, name, createdAt, size: formatSize(sizeOf(object)), object };
}

function sizeOf(object: KubernetesObject): string | undefined {
  const { spec, status } = object as Partial<PersistentVolumeClaim & PersistentVolume & VolumeSnapshot>;
  return spec?.capacity?.['storage'] ?? spec?.resources?.requests?.['storage'] ?? status?.restoreSize;
}

function orphanedDisks({ claims, pods: podsOfDisks }: ClusterObjects, copies: DiskCopies): Orphan[] {
  const disks = claims.filter(isKind('disk'));
  const attached = new Set(podsOfDisks.filter(isKind('attachment')).map((pod) => labelOf(pod, label.diskId)));
  const isInUse = (claim: KubernetesObject): boolean =>
    attached.has(claim.metadata.name) || labelOf(claim, label.vmId) !== undefined;
  return [
    ...disks
      .filter((claim) => copies.isNamed(claim))
      .map((claim) => orphan(claim, 'copy', copies.diskOf(claim.metadata.name))),
    ...disks
      .filter((claim) => copies.isUnused(claim))
      .map((claim) => orphan(claim, 'left copy', labelOf(claim, label.replaces))),
    ...disks
      .filter(isReplaced)
      .map((claim) => orphan(claim, 'replaced disk', claim.metadata.annotations?.[annotation.replacement])),
    ...disks
      .filter((claim) => !copies.isNamed(claim) && labelOf(claim, label.provisional) === undefined)
      .filter((claim) => !isReplaced(claim))
      .filter((claim) => labelOf(claim, label.unclaimed) !== undefined && !isInUse(claim))
      .map((claim) => orphan(claim, 'disk', undefined)),
  ];
}

/** Returns true for a disk that a copy has replaced and that update_disk has not deleted. */
const isReplaced = ({ metadata }: KubernetesObject): boolean =>
  metadata.annotations?.[annotation.replaced] === 'true' && metadata.deletionTimestamp === undefined;

/** The copies that update_disk makes: which disk names which copy. */
class DiskCopies {
  /** Maps the name of a copy to the name of its disk. */
  readonly #disks: ReadonlyMap<string | undefined, string>;
  /** The names of the copies that have replaced their disks. */
  readonly #successors: ReadonlySet<string | undefined>;

  constructor(disks: readonly KubernetesObject[]) {
    const copied = disks.filter(
      ({ metadata }) =>
        metadata.annotations?.[annotation.replacement] !== undefined &&
        metadata.deletionTimestamp === undefined,
    );
    this.#disks = new Map(
      copied
        .filter((claim) => !isReplaced(claim))
        .map((claim) => [claim.metadata.annotations?.[annotation.replacement], claim.metadata.name]),
    );
    this.#successors = new Set(
      disks.filter(isReplaced).map(({ metadata }) => metadata.annotations?.[annotation.replacement]),
    );
  }

  /** Returns the disk whose copy has this name. */
  diskOf(name: string | undefined): string | undefined {
    return this.#disks.get(name);
  }

  /** Returns true if a disk names the claim as its copy. */
  isNamed(claim: KubernetesObject): boolean {
    return this.#disks.has(claim.metadata.name);
  }

  /** Returns true for a copy that no disk names and that has not replaced its disk. */
  isUnused(claim: KubernetesObject): boolean {
    return (
      labelOf(claim, label.provisional) !== undefined &&
      claim.metadata.deletionTimestamp === undefined &&
      !this.isNamed(claim) &&
      !this.#successors.has(claim.metadata.name)
    );
  }
}

/** Returns the attachment pods of VMs that no longer exist. Ignores VMs in other namespaces. */
function attachmentsOfDeletedVms(objects: ClusterObjects): Stored<KubernetesObject>[] {
  if (objects.vmPods === undefined) return [];
  const vmUids = new Set(objects.vmPods.map(({ metadata }) => metadata.uid));
  return objects.pods
    .filter(isKind('attachment'))
    .filter(
      ({ metadata }) =>
        (metadata.annotations?.[annotation.vmNamespace] ?? objects.vmNamespace) === objects.vmNamespace,
    )
    .filter(({ metadata }) => !vmUids.has(metadata.annotations?.[annotation.vmUid] ?? ''));
}

/**
 * Returns the Secrets of unfinished VMs, which own the other objects. A VM of an earlier CPI has metadata but
 * no mark.
 */
function unfinishedVms({ vmSecrets, vmPods }: ClusterObjects): Stored<VmSecret>[] {
  if (vmPods === undefined) return [];
  const described = new Set(vmPods.filter(isDescribed).map(({ metadata }) => metadata.name));
  return vmSecrets.filter(
    (secret) =>
      secret.metadata.annotations?.[annotation.creation] !== 'done' &&
      secret.metadata.deletionTimestamp === undefined &&
      !described.has(secret.metadata.name) &&
      !isDescribed(recordOf(secret)),
  );
}

const isDescribed = (object: KubernetesObject | undefined): boolean =>
  object?.metadata.annotations?.[annotation.metadata] !== undefined;
