import type { Stored } from '../../kubernetes/object.ts';
import type { DiskProperties } from './disk-properties.ts';
import { ignoreNotFound, type ObjectReference } from '../../kubernetes/api.ts';
import type { CallContext } from '../call.ts';
import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { DataSource, PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import { annotation, baseLabels, isManaged, label } from '../objects/labels.ts';
import { isDiskCid } from '../objects/names.ts';
import { conflictError, patchIfUnchanged } from '../objects/objects.ts';
import { selectorsOf } from './previous-cids.ts';
import { ProductError } from '../../errors/product-error.ts';
import { parseQuantity } from '../../kubernetes/types/quantity.ts';

export type { PersistentVolumeClaim };

export interface DiskSpec {
  readonly cid: string;
  readonly namespace: string;
  readonly sizeMiB: number;
  readonly properties: DiskProperties;
  readonly directorUuid: string | undefined;
  /** The source of the volume's data. Undefined: an empty volume. */
  readonly dataSource?: DataSource;
}

/**
 * Returns the PersistentVolumeClaim of a disk. It is labelled `unclaimed` until attach_disk or
 * set_disk_metadata names it.
 */
export function buildClaim(plan: DiskSpec): PersistentVolumeClaim {
  const { cid, namespace, properties, dataSource } = plan;
  const { storageClass, attributesClass } = properties;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: cid,
      namespace,
      labels: { ...baseLabels(plan, 'disk'), [label.diskId]: cid, [label.unclaimed]: 'true' },
      annotations: diskTypeAnnotations(properties),
    },
    spec: {
      accessModes: [properties.accessMode],
      ...(storageClass !== undefined && { storageClassName: storageClass }),
      ...(attributesClass !== undefined && { volumeAttributesClassName: attributesClass }),
      ...(dataSource !== undefined && { dataSource }),
      resources: { requests: { storage: `${plan.sizeMiB}Mi` } },
    },
  };
}

/** Returns annotations for those disk-type properties that a PersistentVolumeClaim has no field for. */
export const diskTypeAnnotations = ({
  storageClass,
  snapshotClass,
}: DiskProperties): Record<string, string> => ({
  ...(snapshotClass !== undefined && { [annotation.snapshotClass]: snapshotClass }),
  ...(storageClass === undefined && { [annotation.defaultClass]: 'true' }),
});

export const claimReference = (call: CallContext, cid: string): ObjectReference => ({
  resource: persistentVolumeClaims,
  namespace: call.diskNamespace,
  name: cid,
});

/** Returns true for a disk whose replacement has taken its place. */
export const isReplaced = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata.annotations?.[annotation.replaced] === 'true';

/** Returns true for a replacement that has not taken the place of a disk. */
export const isProvisional = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata.labels?.[label.provisional] !== undefined;

/** Returns the claim of a disk; undefined for a cid that names no disk of the CPI. */
export async function findClaim(
  call: CallContext,
  cid: string,
): Promise<Stored<PersistentVolumeClaim> | undefined> {
  if (!isDiskCid(cid)) return undefined;
  const claim = await ignoreNotFound(call.api.get<PersistentVolumeClaim>(claimReference(call, cid)));
  return claim !== undefined && isManaged(claim, 'disk') ? claim : undefined;
}

/** The labels and annotations of a claim that a patch changes; null removes one. */
export interface ClaimPatch {
  readonly labels?: Readonly<Record<string, string | null | undefined>>;
  readonly annotations?: Readonly<Record<string, string | null | undefined>>;
}

/** {@link patchIfUnchanged} for the metadata of a claim. */
export const patchClaim = (
  call: CallContext,
  claim: Stored<PersistentVolumeClaim>,
  metadata: ClaimPatch,
): Promise<Stored<PersistentVolumeClaim> | undefined> =>
  patchIfUnchanged(call, claimReference(call, claim.metadata.name), claim, { metadata });

/** The maximum number of replacements that one lookup finishes, if killed calls left several of one disk. */
const maxAttempts = 3;

/**
 * Finds the claim of a disk. If update_disk has replaced the disk and the caller may not know the new cid,
 * returns the replacement. Whatever the verb, it first finishes a replacement that a killed call left.
 * Undefined for a cid of no disk of the CPI, and for that of a replacement which has not replaced anything.
 *
 * Model: update.pml
 */
export async function findDisk(
  call: CallContext,
  cid: string,
): Promise<Stored<PersistentVolumeClaim> | undefined> {
  if (!isDiskCid(cid)) return undefined;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const claim = await findClaim(call, cid);
    const own = claim !== undefined && isProvisional(claim) ? undefined : claim;
    if (own !== undefined && !isReplaced(own)) return own;
    const standing = own !== undefined && isUnfinished(own) ? [own] : await listReplacements(call, cid);
    const disk = standing.find((replacement) => !isReplaced(replacement));
    if (disk !== undefined) return disk;
    const unfinished = standing.find(isUnfinished);
    if (unfinished === undefined) return standing[0] ?? own;
    const { completeReplacement } = await import('./update/complete-replacement.ts');
    await completeReplacement(call, unfinished);
  }
  throw conflictError('DISK_BUSY', `disk '${cid}'`);
}

/**
 * Returns the replacements that took the place of that disk one after the other. Those that have been
 * replaced themselves may still exist.
 */
async function listReplacements(call: CallContext, cid: string): Promise<Stored<PersistentVolumeClaim>[]> {
  const { namespace } = claimReference(call, cid);
  const lists = await Promise.all(
    selectorsOf(cid).map((labelSelector) =>
      call.api.list<PersistentVolumeClaim>(persistentVolumeClaims, { namespace, labelSelector }),
    ),
  );
  return lists
    .flatMap(({ items }) => items)
    .filter((replacement) => isManaged(replacement, 'disk') && !isProvisional(replacement));
}

const isUnfinished = (claim: PersistentVolumeClaim): boolean =>
  isReplaced(claim) && claim.metadata.deletionTimestamp === undefined;

const restoreHint =
  'docs/recovery.md says how a volume that was kept becomes the disk again whose claim was deleted';

/** Returns the error for a cid that no disk has. */
export function diskNotFoundError(call: CallContext, cid: string): ProductError {
  return new ProductError(
    'DISK_NOT_FOUND',
    `there is no disk '${cid}' in namespace ${call.diskNamespace}; if it was made elsewhere, correct ` +
      `kubernetes.namespace or kubernetes.disk_namespace; ${restoreHint}`,
  );
}

/** Returns the claim of a disk that a call may change. Rejects with DISK_NOT_FOUND. */
export function requireUsable(
  call: CallContext,
  cid: string,
  claim: Stored<PersistentVolumeClaim> | undefined,
): Stored<PersistentVolumeClaim> {
  if (claim === undefined) throw diskNotFoundError(call, cid);
  if (claim.metadata.deletionTimestamp !== undefined) throw diskDeletedError(cid, 'is being deleted');
  return claim;
}

/** Returns the error for a disk that is deleted while a call works on it. */
export function diskDeletedError(
  cid: string,
  how: 'is being deleted' | 'was deleted during this call',
): ProductError {
  return new ProductError('DISK_NOT_FOUND', `disk '${cid}' ${how}; ${restoreHint}`);
}

const mebibyte = 1024n * 1024n;

const resizePending = 'FileSystemResizePending';

export const parseBytes = (sizeMiB: number): bigint => BigInt(sizeMiB) * mebibyte;

/** Returns the size that the claim requests, in bytes. */
export function requestedBytes({ spec }: PersistentVolumeClaim): bigint {
  return parseQuantity(spec.resources?.requests?.['storage'] ?? '0') ?? 0n;
}

/** Formats bytes for messages as whole MiB, the unit of BOSH. */
export const formatMiB = (bytes: bigint): string => `${(bytes + mebibyte - 1n) / mebibyte} MiB`;

/**
 * Returns whether the volume has the requested size, as far as this is possible without a pod: a file system
 * grows when it is mounted the next time (kubernetes-csi/external-resizer, FileSystemResizePending).
 */
export function hasReachedSize({ status }: PersistentVolumeClaim, bytes: bigint): boolean {
  const sizeIn = (sizes: Readonly<Record<string, string>> | undefined): bigint | undefined =>
    parseQuantity(sizes?.['storage'] ?? '');
  if ((sizeIn(status?.capacity) ?? 0n) >= bytes) return true;
  const isPending = status?.conditions?.some(
    ({ type, status: value }) => type === resizePending && value === 'True',
  );
  // the condition may come from an earlier growth, which no pod has completed yet
  return isPending === true && (sizeIn(status?.allocatedResources) ?? bytes) >= bytes;
}
