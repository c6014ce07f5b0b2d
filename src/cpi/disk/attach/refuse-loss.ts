import { ProductError } from '../../../errors/product-error.ts';
import { persistentVolumeClaims } from '../../../kubernetes/resources.ts';
import type { CallContext } from '../../cloud.ts';
import { annotation, label } from '../../labels.ts';
import type { PersistentVolumeClaim } from '../claim.ts';
import { findClaim } from '../claim.ts';

/**
 * True for a claim that somebody deleted while a pod used it: Kubernetes lets it go, and its volume with it, with that
 * pod, and nothing takes the deletion back (kubernetes: pkg/controller/volume/pvcprotection). A claim that was never
 * bound holds nothing; one that its owner gave up may go, and so may one that delete_disk has deleted. Model: hot.pml
 */
export const wouldDeleteData = ({ metadata, spec }: PersistentVolumeClaim): boolean =>
  metadata.deletionTimestamp !== undefined &&
  spec.volumeName !== undefined &&
  // update_disk deleted it, and its copy has the data
  metadata.annotations?.[annotation.replaced] !== 'true' &&
  metadata.annotations?.[annotation.giveUp] !== 'true' &&
  metadata.annotations?.[annotation.deleting] !== 'true';

/** Rejects with DISK_WOULD_BE_LOST, which says what to do, for the first claim that would go with the VM's pod. */
export function assertClaimsRetained(
  vmCid: string,
  claims: readonly (PersistentVolumeClaim | undefined)[],
): void {
  const lost = claims.find((claim) => claim !== undefined && wouldDeleteData(claim));
  if (lost === undefined) return;
  const { name = '', namespace = '' } = lost.metadata;
  const volume = lost.spec.volumeName ?? '';
  throw new ProductError(
    'DISK_WOULD_BE_LOST',
    `claim '${name}' of VM '${vmCid}' was deleted behind BOSH's back, and Kubernetes would delete its volume as soon as the VM lets it go; nothing was changed. ` +
      `To keep the data run: kubectl patch pv ${volume} -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'. ` +
      `Then, or to give the data up, run: kubectl annotate pvc ${name} -n ${namespace} ${annotation.giveUp}=true, and try again; ` +
      'docs/operating.md says how a kept volume becomes the disk again',
  );
}

/** The claims of those disks, where they are. */
export const claimsOf = (
  cloud: CallContext,
  diskCids: readonly string[],
): Promise<(PersistentVolumeClaim | undefined)[]> =>
  Promise.all(diskCids.map((cid) => findClaim(cloud, cid)));

/** The claims that name a VM: its own, and the disks of one whose pod is made anew. */
export async function claimsOfRecreatedVm(
  cloud: CallContext,
  vmCid: string,
): Promise<PersistentVolumeClaim[]> {
  const { items } = await cloud.api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
    namespace: cloud.namespace,
    labelSelector: `${label.vmId}=${vmCid}`,
  });
  return items;
}
