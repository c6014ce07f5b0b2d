import { parseQuantity } from '../../../src/kubernetes/types/quantity.ts';
import type {
  VolumeSnapshot,
  VolumeSnapshotContent,
  PersistentVolume,
  PersistentVolumeClaim,
} from '../../../src/kubernetes/types/storage.ts';
import type { VolumeSource } from '../../node/volume-provisioner.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { isLocalVolume } from './local-volume.ts';

/** The source of a claim's data. `protect` is a claim that must not be deleted during the copy. */
export type DataSource =
  | { readonly source: VolumeSource; readonly protect?: PersistentVolumeClaim }
  | { readonly refusal: string };

export interface DataSourceLister {
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  snapshot(key: string): VolumeSnapshot | undefined;
  content(name: string): VolumeSnapshotContent | undefined;
}

/** Returns the source of a claim with a data source. Pure. */
export function resolveDataSource(claim: PersistentVolumeClaim, lookup: DataSourceLister): DataSource {
  return claim.spec.dataSourceRef?.kind === 'VolumeSnapshot'
    ? snapshotSource(claim, lookup)
    : claimSource(claim, lookup);
}

/**
 * Returns the claim to clone, under the conditions of external-provisioner (pkg/controller, getPVCSource).
 * Pure.
 */
function claimSource(claim: PersistentVolumeClaim, lookup: DataSourceLister): DataSource {
  const name = claim.spec.dataSourceRef?.name ?? '';
  const refuse = (why: string): DataSource => ({ refusal: `error getting source PVC ${name}: ${why}` });
  const source = lookup.claim(`${claim.metadata.namespace}/${name}`);
  if (source === undefined) return refuse('it does not exist');
  const volume = lookup.volume(source.spec.volumeName ?? '');
  if (source.status?.phase !== 'Bound' || volume === undefined) return refuse('it is not bound');
  if (source.metadata.deletionTimestamp !== undefined) return refuse('it is being deleted');
  if (!isLocalVolume(volume)) return refuse('its volume was made by another driver');
  if (requestOf(claim) < sizeOf(volume.spec.capacity?.['storage'])) {
    return refuse('the new PVC request must be greater than or equal in size to the source');
  }
  return { source: { volume: volume.metadata.name }, protect: source };
}

/** Returns the snapshot to restore a claim from (external-provisioner pkg/controller, getSnapshotSource). */
function snapshotSource(claim: PersistentVolumeClaim, lookup: DataSourceLister): DataSource {
  const name = claim.spec.dataSourceRef?.name ?? '';
  const refuse = (why: string): DataSource => ({
    refusal: `error getting handle for DataSource Type VolumeSnapshot by Name ${name}: ${why}`,
  });
  const snapshot = lookup.snapshot(`${claim.metadata.namespace}/${name}`);
  if (snapshot === undefined) return refuse('it does not exist');
  if (snapshot.metadata.deletionTimestamp !== undefined) return refuse('it is being deleted');
  const ready = readyContent(snapshot, lookup);
  if (ready === undefined) return refuse('it is not ready to use');
  if (ready.driver !== localProvisioner) return refuse('it is of another driver');
  if (requestOf(claim) < BigInt(ready.restoreSize)) {
    return refuse('requested volume size is less than the size of the snapshot');
  }
  return { source: { snapshot: ready.handle } };
}

/** Returns the content of a snapshot; undefined if the snapshot is not ready to use. */
function readyContent(
  { status }: VolumeSnapshot,
  lookup: DataSourceLister,
): { readonly handle: string; readonly driver: string; readonly restoreSize: number } | undefined {
  const content = lookup.content(status?.boundVolumeSnapshotContentName ?? '');
  const handle = content?.status?.snapshotHandle;
  if (status?.readyToUse !== true || content === undefined || handle === undefined) return undefined;
  return { handle, driver: content.spec.driver, restoreSize: content.status?.restoreSize ?? 0 };
}

export function requestOf(claim: PersistentVolumeClaim): bigint {
  return sizeOf(claim.spec.resources?.requests?.['storage']);
}

/** Returns a quantity in bytes; 0 if it is not a quantity. */
export function sizeOf(quantity: string | undefined): bigint {
  return parseQuantity(quantity ?? '0') ?? 0n;
}
