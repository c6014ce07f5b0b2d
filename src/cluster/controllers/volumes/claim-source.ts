import { parseQuantity } from '../../../kubernetes/quantity.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { VolumeSource } from '../../node/volume-provisioner.ts';
import { isLocalVolume } from './local-volume.ts';

/** What a claim is to be filled from; `protect` is the claim that must not go meanwhile. */
export type SourceAnswer =
  | { readonly source: VolumeSource; readonly protect?: PersistentVolumeClaim }
  | { readonly refusal: string };

export interface SourceLookup {
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
}

/** The claim that another is cloned from (external-provisioner pkg/controller, getPVCSource, with its conditions). Pure. */
export function claimSource(claim: PersistentVolumeClaim, lookup: SourceLookup): SourceAnswer {
  const name = claim.spec.dataSourceRef?.name ?? '';
  const refuse = (why: string): SourceAnswer => ({ refusal: `error getting source PVC ${name}: ${why}` });
  const source = lookup.claim(`${claim.metadata.namespace ?? ''}/${name}`);
  if (source === undefined) return refuse('it does not exist');
  const volume = lookup.volume(source.spec.volumeName ?? '');
  if (source.status?.phase !== 'Bound' || volume === undefined) return refuse('it is not bound');
  if (source.metadata.deletionTimestamp !== undefined) return refuse('it is being deleted');
  if (!isLocalVolume(volume)) return refuse('its volume was made by another driver');
  if (requestOf(claim) < sizeOf(volume.spec.capacity?.['storage'])) {
    return refuse('the new PVC request must be greater than or equal in size to the source');
  }
  return { source: { volume: volume.metadata.name ?? '' }, protect: source };
}

export function requestOf(claim: PersistentVolumeClaim): bigint {
  return sizeOf(claim.spec.resources?.requests?.['storage']);
}

/** Bytes; nothing for what is no quantity. */
export function sizeOf(quantity: string | undefined): bigint {
  return parseQuantity(quantity ?? '0') ?? 0n;
}
