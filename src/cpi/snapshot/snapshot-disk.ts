import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import { persistentVolumes, storageClasses } from '../../kubernetes/resources.ts';
import type { PersistentVolume, StorageClass } from '../../kubernetes/volume.ts';
import type { CallContext } from '../cloud.ts';
import { findDisk } from '../disk/find-disk.ts';
import type { Location } from '../input.ts';
import { child, recordAt, stringAt } from '../input.ts';
import { annotation, baseLabels, label } from '../labels.ts';
import { metadataPatch } from '../metadata.ts';
import { findSnapshotClass } from './snapshot-class.ts';
import { takeSnapshot } from './take-snapshot.ts';
import { diskNotFoundError } from '../disk/disk-not-found.ts';

/**
 * snapshot_disk(disk_cid, metadata): makes a VolumeSnapshot of the disk, attached or not, and returns its cid
 * when the snapshot is ready. Rejects with NOT_IMPLEMENTED if the cluster has no snapshots: the director
 * ignores that error only. The label `unclaimed` is never removed, because no later call shows that the
 * caller got the cid.
 */
export async function snapshotDisk(cloud: CallContext, args: readonly unknown[]): Promise<string> {
  const place: Location = { code: 'INVALID_ARGUMENT', path: 'snapshot_disk' };
  const cid = stringAt(args[0], child(place, 'disk_cid'));
  const metadata = recordAt(args[1], child(place, 'metadata'));
  const claim = await findDisk(cloud, cid);
  if (claim === undefined) throw diskNotFoundError(cloud, cid);
  if (claim.status?.phase !== 'Bound')
    throw notImplemented(cid, 'it was never attached, so it has no volume; attach it first');
  const { name: claimName = '', namespace = '' } = claim.metadata;
  const named = claim.metadata.annotations?.[annotation.snapshotClass];
  const { storageClassName = '', volumeName = '' } = claim.spec;
  const driver =
    storageClassName === ''
      ? await staticDriverOf(cloud, volumeName)
      : await driverOf(cloud, storageClassName);
  if (driver === null)
    throw notImplemented(
      cid,
      `volume ${volumeName} has no driver that could take one; use disks of a CSI driver with snapshots`,
    );
  const answer = await findSnapshotClass(cloud, { named, driver });
  if ('lacking' in answer) throw notImplemented(cid, answer.lacking);
  const name = `snap-${cloud.newUuid()}`;
  const { labels, annotations } = metadataPatch(metadata).metadata;
  await takeSnapshot(cloud, {
    ...{ name, namespace, claimName },
    className: answer.className,
    labels: {
      ...definedOnly(labels),
      ...baseLabels('snapshot', cloud.directorUuid),
      [label.diskId]: claimName,
      [label.unclaimed]: 'true',
    },
    annotations,
  });
  return name;
}

function notImplemented(cid: string, whyAndNext: string): ProductError {
  return new ProductError('NOT_IMPLEMENTED', `there can be no snapshot of disk '${cid}': ${whyAndNext}`);
}

/**
 * Undefined if there is no class, or it is deleted or may not be read: the snapshot's own status reports the
 * problem then.
 */
async function driverOf(cloud: CallContext, name: string): Promise<string | undefined> {
  try {
    return (await cloud.api.get<StorageClass>({ resource: storageClasses, name })).provisioner;
  } catch (error) {
    if (isApiError(error, 404) || isApiError(error, 403)) return undefined;
    throw error;
  }
}

function definedOnly(labels: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}

/** Returns the driver of a static volume: null if it has none, undefined if volumes may not be read. */
async function staticDriverOf(cloud: CallContext, name: string): Promise<string | null | undefined> {
  try {
    const { spec } = await cloud.api.get<PersistentVolume>({ resource: persistentVolumes, name });
    return spec.csi?.driver ?? null;
  } catch (error) {
    if (isApiError(error, 404) || isApiError(error, 403)) return undefined;
    throw error;
  }
}
