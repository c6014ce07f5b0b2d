import { noSnapshotApi } from '../disk/classes.ts';
import { ProductError } from '../../errors/product-error.ts';
import { ifReadable } from '../../kubernetes/api.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import { persistentVolumes, storageClasses, volumeSnapshotClasses } from '../../kubernetes/resources.ts';
import {
  type PersistentVolume,
  type StorageClass,
  type VolumeSnapshotClass,
  snapshotAnnotations,
} from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import type { DiskMetadataRequest } from '../protocol/methods.ts';
import { findDisk, diskNotFoundError } from '../disk/disks.ts';
import { annotation, baseLabels, label, metadataPatch } from '../objects/labels.ts';
import { takeSnapshot } from './take-snapshot.ts';

/**
 * snapshot_disk(disk_cid, metadata): makes a VolumeSnapshot of the disk, attached or not, and returns its cid
 * when the snapshot is ready. Rejects with NOT_IMPLEMENTED if the cluster has no snapshots: the director
 * ignores that error only. The label `unclaimed` is never removed, because no later call shows that the
 * caller got the cid.
 */
export async function snapshotDisk(
  call: CallContext,
  { diskCid: cid, metadata }: DiskMetadataRequest,
): Promise<string> {
  const claim = await findDisk(call, cid);
  if (claim === undefined) throw diskNotFoundError(call, cid);
  if (claim.status?.phase !== 'Bound')
    throw notImplemented(cid, 'it was never attached, so it has no volume; attach it first');
  const { name: claimName, namespace } = claim.metadata;
  const named = claim.metadata.annotations?.[annotation.snapshotClass];
  const { storageClassName = '', volumeName = '' } = claim.spec;
  const driver =
    storageClassName === ''
      ? await readStaticDriver(call, volumeName)
      : await readDriver(call, storageClassName);
  if (driver === null)
    throw notImplemented(
      cid,
      `volume ${volumeName} has no CSI driver; use disks of a CSI driver that supports snapshots`,
    );
  const result = await findSnapshotClass(call, { named, driver });
  if ('missing' in result) throw notImplemented(cid, result.missing);
  const name = `snap-${call.newUuid()}`;
  const { labels, annotations } = metadataPatch(metadata).metadata;
  await takeSnapshot(call, {
    ...{ name, namespace, claimName },
    className: result.className,
    labels: {
      ...omitNull(labels),
      ...baseLabels(call, 'snapshot'),
      [label.diskId]: claimName,
      [label.unclaimed]: 'true',
    },
    annotations,
  });
  return name;
}

function notImplemented(cid: string, reasonAndNext: string): ProductError {
  return new ProductError('NOT_IMPLEMENTED', `disk '${cid}' cannot be snapshotted: ${reasonAndNext}`);
}

/**
 * Undefined if there is no class, or it is deleted or may not be read: the snapshot's own status reports the
 * problem then.
 */
async function readDriver(call: CallContext, name: string): Promise<string | undefined> {
  const storageClass = await ifReadable(call.api.get<StorageClass>({ resource: storageClasses, name }));
  return storageClass?.provisioner;
}

function omitNull(labels: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}

/** Returns the driver of a static volume: null if it has none, undefined if volumes may not be read. */
async function readStaticDriver(call: CallContext, name: string): Promise<string | null | undefined> {
  const volume = await ifReadable(call.api.get<PersistentVolume>({ resource: persistentVolumes, name }));
  return volume === undefined ? undefined : (volume.spec.csi?.driver ?? null);
}

export interface SnapshotClassQuery {
  /** `snapshot_class` of the disk's type. Undefined: the default class of the driver. */
  readonly named: string | undefined;
  /** Undefined if no object names it: a static volume. */
  readonly driver: string | undefined;
}

export type SnapshotClassResult =
  /** Without a name the cluster's snapshot controller chooses the class: the role may not read classes. */
  { readonly className: string | undefined } | { readonly missing: string };

/**
 * Finds the VolumeSnapshotClass for a disk, or returns what the cluster lacks. Sends one request; changes
 * nothing.
 */
export async function findSnapshotClass(
  call: CallContext,
  query: SnapshotClassQuery,
): Promise<SnapshotClassResult> {
  try {
    const { items } = await call.api.list<VolumeSnapshotClass>(volumeSnapshotClasses);
    return chooseSnapshotClass(items, query);
  } catch (error) {
    if (isApiError(error, 404)) return { missing: noSnapshotApi };
    if (isApiError(error, 403)) return { className: query.named };
    throw error;
  }
}

/** Chooses the class without requests. */
export function chooseSnapshotClass(
  classes: readonly VolumeSnapshotClass[],
  { named, driver }: SnapshotClassQuery,
): SnapshotClassResult {
  const serving = classes.filter((one) => driver === undefined || one.driver === driver);
  if (named !== undefined) {
    return serving.some(({ metadata }) => metadata.name === named)
      ? { className: named }
      : {
          missing: `the cluster has no VolumeSnapshotClass "${named}"${driverSuffix(driver)}; create it or correct snapshot_class`,
        };
  }
  const defaults = serving.filter(
    ({ metadata }) => metadata.annotations?.[snapshotAnnotations.defaultClass] === 'true',
  );
  const [first, second] = defaults;
  if (first !== undefined && second === undefined) return { className: first.metadata.name };
  const count = first === undefined ? 'no' : 'more than one';
  return {
    missing: `the cluster has ${count} default VolumeSnapshotClass${driverSuffix(driver)}; name one as snapshot_class of the disk type`,
  };
}

const driverSuffix = (driver: string | undefined): string =>
  driver === undefined ? '' : ` of driver ${driver}`;
