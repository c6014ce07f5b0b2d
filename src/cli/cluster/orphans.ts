import { type KubernetesApi, type Resource, ifAllowed, ignoreNotFound } from '../../kubernetes/api.ts';
import type { KubernetesObject, NamespacedObject } from '../../kubernetes/object.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
  volumeSnapshots,
} from '../../kubernetes/resources.ts';
import type { PersistentVolume } from '../../kubernetes/types/storage.ts';

/** Prefix of the CPI's labels and annotations, which other tools may read (object layout 1). */
const domain = 'bosh.cloudfoundry.org/';
const kind = `${domain}kind`;
const diskId = `${domain}disk-id`;
const vmId = `${domain}vm-id`;
const unclaimed = `${domain}unclaimed`;
const copy = `${domain}copy`;
const replaced = `${domain}replaced`;
const replaces = `${domain}replaces`;
const provisional = `${domain}provisional`;
const vmUid = `${domain}vm-uid`;
const vmNamespace = `${domain}vm-namespace`;
const creation = `${domain}creation`;
const metadataOf = `${domain}metadata`;
/** The key of a VM's Secret that contains the VM's desired pod, with the strategy `recreate`. */
const podKey = 'pod.json';

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
}

interface Secret extends NamespacedObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface ClusterObjects {
  readonly claims: readonly KubernetesObject[];
  /** Attachment pods and helper pods. */
  readonly pods: readonly KubernetesObject[];
  readonly snapshots: readonly KubernetesObject[];
  readonly vmPods: readonly KubernetesObject[];
  readonly vmSecrets: readonly Secret[];
  /** The namespace of `vmPods` and `vmSecrets`. An attachment pod may belong to a VM in another namespace. */
  readonly vmNamespace: string;
  /** The volumes whose claims the CPI has deleted. */
  readonly volumes: readonly PersistentVolume[];
}

/**
 * The CPI's namespaces: `kubernetes.namespace` and `kubernetes.disk_namespace`, which defaults to the first.
 */
export interface Namespaces {
  readonly vms: string;
  readonly disks: string;
}

export interface Orphans {
  /** The orphans, oldest first. */
  readonly found: readonly Orphan[];
  /** False if the account may not list Secrets, which are needed to find unfinished VMs. */
  readonly areVmsKnown: boolean;
  /**
   * False if the account may not list PersistentVolumes, which remain after a disk was deleted if the
   * StorageClass retains volumes.
   */
  readonly areVolumesKnown: boolean;
}

/** Returns the CPI's objects that killed calls, or deletions by other clients, may have left. Reads only. */
export async function listOrphans(api: KubernetesApi, namespaces: Namespaces): Promise<Orphans> {
  const [claims, ofDisks, snapshots, ofVms, ofOwners, volumes] = await Promise.all([
    listOurs(api, persistentVolumeClaims, namespaces.disks),
    listOurs(api, pods, namespaces.disks),
    listOurs(api, volumeSnapshots, namespaces.disks),
    listOurs(api, pods, namespaces.vms),
    ifAllowed(listOurs<Secret>(api, secrets, namespaces.vms)),
    ifAllowed(api.list<PersistentVolume>(persistentVolumes)),
  ]);
  const found = findOrphans({
    claims,
    pods: ofDisks,
    snapshots,
    vmPods: ofVms.filter(isKind('vm')),
    vmSecrets: (ofOwners ?? []).filter(isKind('vm')),
    vmNamespace: namespaces.vms,
    volumes: (volumes?.items ?? []).filter((volume) => isReleased(volume, namespaces)),
  });
  return { found, areVmsKnown: ofOwners !== undefined, areVolumesKnown: volumes !== undefined };
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
 * Returns as orphans:
 * - a VM that create_vm has not finished and that has no metadata;
 * - an unclaimed disk that no VM uses;
 * - every snapshot, because its mark stays;
 * - a copy that a disk names, or that no disk names and that has replaced none, and the helper objects of a
 *   copy;
 * - a disk that was replaced by a copy;
 * - an attachment pod whose VM no longer exists;
 * - a volume that outlived the claim of a disk or a VM.
 */
function findOrphans(objects: ClusterObjects): Orphan[] {
  const { pods: podsOfDisks, snapshots, volumes } = objects;
  const copies = new DiskCopies(objects.claims.filter(isKind('disk')));
  return [
    ...unfinishedVms(objects).map((secret) => orphan(secret, 'VM', undefined)),
    ...attachmentsOfDeletedVms(objects).map((pod) => orphan(pod, 'attachment', labelOf(pod, diskId))),
    ...orphanedDisks(objects, copies),
    ...snapshots
      .filter(isKind('snapshot'))
      .map((snapshot) => orphan(snapshot, 'snapshot', labelOf(snapshot, diskId))),
    ...snapshots
      .filter(isKind('copy'))
      .map((snapshot) => orphan(snapshot, 'helper snapshot', copies.diskOf(snapshot.metadata.name.slice(5)))),
    ...podsOfDisks
      .filter(isKind('copy'))
      .map((pod) => orphan(pod, 'helper pod', copies.diskOf(labelOf(pod, diskId)))),
    ...volumes.map((volume) => orphan(volume, 'released volume', volume.spec.claimRef?.name)),
  ].toSorted(
    (one, other) => one.createdAt.localeCompare(other.createdAt) || one.name.localeCompare(other.name),
  );
}

function orphan(object: KubernetesObject, what: Orphan['what'], disk: string | undefined): Orphan {
  return { what, disk, name: object.metadata.name, createdAt: object.metadata.creationTimestamp ?? '' };
}

function orphanedDisks({ claims, pods: podsOfDisks }: ClusterObjects, copies: DiskCopies): Orphan[] {
  const disks = claims.filter(isKind('disk'));
  const attached = new Set(podsOfDisks.filter(isKind('attachment')).map((pod) => labelOf(pod, diskId)));
  const isInUse = (claim: KubernetesObject): boolean =>
    attached.has(claim.metadata.name) || labelOf(claim, vmId) !== undefined;
  return [
    ...disks
      .filter((claim) => copies.isNamed(claim))
      .map((claim) => orphan(claim, 'copy', copies.diskOf(claim.metadata.name))),
    ...disks
      .filter((claim) => copies.isUnused(claim))
      .map((claim) => orphan(claim, 'left copy', labelOf(claim, replaces))),
    ...disks
      .filter(isReplaced)
      .map((claim) => orphan(claim, 'replaced disk', claim.metadata.annotations?.[copy])),
    ...disks
      .filter((claim) => !copies.isNamed(claim) && labelOf(claim, provisional) === undefined)
      .filter((claim) => !isReplaced(claim))
      .filter((claim) => labelOf(claim, unclaimed) !== undefined && !isInUse(claim))
      .map((claim) => orphan(claim, 'disk', undefined)),
  ];
}

/** Returns true for a disk that a copy has replaced and that update_disk has not deleted. */
const isReplaced = ({ metadata }: KubernetesObject): boolean =>
  metadata.annotations?.[replaced] === 'true' && metadata.deletionTimestamp === undefined;

/** The copies that update_disk makes: which disk names which copy. */
class DiskCopies {
  /** Maps the name of a copy to the name of its disk. */
  readonly #disks: ReadonlyMap<string | undefined, string>;
  /** The names of the copies that have replaced their disks. */
  readonly #successors: ReadonlySet<string | undefined>;

  constructor(disks: readonly KubernetesObject[]) {
    const copied = disks.filter(
      ({ metadata }) =>
        metadata.annotations?.[copy] !== undefined && metadata.deletionTimestamp === undefined,
    );
    this.#disks = new Map(
      copied
        .filter((claim) => !isReplaced(claim))
        .map((claim) => [claim.metadata.annotations?.[copy], claim.metadata.name]),
    );
    this.#successors = new Set(disks.filter(isReplaced).map(({ metadata }) => metadata.annotations?.[copy]));
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
      labelOf(claim, provisional) !== undefined &&
      claim.metadata.deletionTimestamp === undefined &&
      !this.isNamed(claim) &&
      !this.#successors.has(claim.metadata.name)
    );
  }
}

/** Returns the attachment pods of VMs that no longer exist. Ignores VMs in other namespaces. */
function attachmentsOfDeletedVms(objects: ClusterObjects): KubernetesObject[] {
  const vmUids = new Set(objects.vmPods.map(({ metadata }) => metadata.uid));
  return objects.pods
    .filter(isKind('attachment'))
    .filter(
      ({ metadata }) => (metadata.annotations?.[vmNamespace] ?? objects.vmNamespace) === objects.vmNamespace,
    )
    .filter(({ metadata }) => !vmUids.has(metadata.annotations?.[vmUid]));
}

/**
 * Returns the Secrets of unfinished VMs, which own the other objects. A VM of an earlier CPI has metadata but
 * no mark.
 */
function unfinishedVms({ vmSecrets, vmPods }: ClusterObjects): Secret[] {
  const described = new Set(vmPods.filter(isDescribed).map(({ metadata }) => metadata.name));
  return vmSecrets.filter(
    ({ metadata, data }) =>
      metadata.annotations?.[creation] !== 'done' &&
      metadata.deletionTimestamp === undefined &&
      !described.has(metadata.name) &&
      !isRecordDescribed(data?.[podKey]),
  );
}

const isDescribed = ({ metadata }: KubernetesObject): boolean =>
  metadata.annotations?.[metadataOf] !== undefined;

/**
 * Returns true if the recorded pod has metadata. A VM with the strategy `recreate` has no pod while a disk is
 * being attached.
 */
function isRecordDescribed(record: string | undefined): boolean {
  if (record === undefined) return false;
  return isDescribed(JSON.parse(Buffer.from(record, 'base64').toString('utf8')) as KubernetesObject);
}

/** Returns an empty list if the cluster does not have the snapshot kinds. */
async function listOurs<T extends KubernetesObject = KubernetesObject>(
  api: KubernetesApi,
  resource: Resource,
  namespace: string,
): Promise<T[]> {
  const list = await ignoreNotFound(api.list<T>(resource, { namespace, labelSelector: kind }));
  return list?.items ?? [];
}

const isKind =
  (type: string) =>
  (object: KubernetesObject): boolean =>
    labelOf(object, kind) === type;

const labelOf = ({ metadata }: KubernetesObject, name: string): string | undefined => metadata.labels?.[name];
