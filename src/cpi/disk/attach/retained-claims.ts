import { type PersistentVolumeClaim, findClaim } from '../disks.ts';
import { annotation, label } from '../../objects/labels.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { type CallContext } from '../../call.ts';
import { persistentVolumeClaims } from '../../../kubernetes/resources.ts';

/**
 * Returns true if detaching would delete the data. The claim has a deletionTimestamp: when the last pod that
 * uses it ends, Kubernetes deletes the claim and its volume, and nothing cancels that (kubernetes:
 * pkg/controller/volume/pvcprotection). False if the claim was never bound, has the annotation give-up, or
 * was deleted by delete_disk. Model: hot.pml
 */
export const wouldDeleteData = ({ metadata, spec }: PersistentVolumeClaim): boolean =>
  metadata.deletionTimestamp !== undefined &&
  spec.volumeName !== undefined &&
  // update_disk deleted it, and its replacement has the data
  metadata.annotations?.[annotation.replaced] !== 'true' &&
  metadata.annotations?.[annotation.giveUp] !== 'true' &&
  metadata.annotations?.[annotation.deleting] !== 'true';

/**
 * Rejects with DISK_WOULD_BE_LOST, which names the next step, for the first claim that would be deleted with
 * the VM's pod.
 */
export function assertClaimsRetained(
  vmCid: string,
  claims: readonly (PersistentVolumeClaim | undefined)[],
): void {
  const lost = claims.find((claim) => claim !== undefined && wouldDeleteData(claim));
  if (lost === undefined) return;
  const { name, namespace } = lost.metadata;
  const volume = lost.spec.volumeName ?? '';
  throw new ProductError(
    'DISK_WOULD_BE_LOST',
    `claim '${name}' of VM '${vmCid}' was deleted by a program other than BOSH, and Kubernetes would delete its volume as soon as the VM no longer uses it; nothing was changed. ` +
      `To keep the data run: kubectl patch pv ${volume} -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'. ` +
      `Then, or to give the data up, run: kubectl annotate pvc ${name} -n ${namespace} ${annotation.giveUp}=true, and try again; ` +
      'docs/recovery.md says how a kept volume becomes the disk again',
  );
}

/** Returns the existing claims of those disks. */
export const findClaims = (
  call: CallContext,
  diskCids: readonly string[],
): Promise<(PersistentVolumeClaim | undefined)[]> => Promise.all(diskCids.map((cid) => findClaim(call, cid)));

/** Returns the claims of a VM: its own volume and, under the strategy `recreate`, its disks. */
export async function findClaimsOfVm(call: CallContext, vmCid: string): Promise<PersistentVolumeClaim[]> {
  const { items } = await call.api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
    namespace: call.namespace,
    labelSelector: `${label.vmId}=${vmCid}`,
  });
  return items;
}
