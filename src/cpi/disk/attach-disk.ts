import { ProductError } from '../../errors/product-error.ts';
import type { Cloud } from '../cloud.ts';
import type { Place } from '../input.ts';
import { at, stringAt } from '../input.ts';
import { label } from '../labels.ts';
import { liveVm } from '../vm/live-vm.ts';
import { attachHot } from './attach/hot.ts';
import { claimReference, findClaim } from './claim.ts';
import { diskNotFound } from './set-disk-metadata.ts';

/**
 * attach_disk(vm_cid, disk_cid): attaches to the running VM and returns the hint, a directory in the VM that lies
 * inside the volume (warden-style images take a path as it is). Idempotent for a pair; an error leaves nothing behind.
 */
export async function attachDisk(cloud: Cloud, args: readonly unknown[]): Promise<string> {
  const place: Place = { code: 'INVALID_ARGUMENT', path: 'attach_disk' };
  const vmCid = stringAt(args[0], at(place, 'vm_cid'));
  const diskCid = stringAt(args[1], at(place, 'disk_cid'));
  const [vm, claim] = await Promise.all([liveVm(cloud, vmCid), findClaim(cloud, diskCid)]);
  if (claim === undefined) throw diskNotFound(cloud, diskCid);
  if (claim.metadata.deletionTimestamp !== undefined) {
    throw new ProductError('DISK_NOT_FOUND', `disk '${diskCid}' is being deleted`);
  }
  const hint = await attachHot(cloud, vm, diskCid);
  if (claim.metadata.labels?.[label.unclaimed] !== undefined) {
    await cloud.api.patch(claimReference(cloud, diskCid), {
      metadata: { labels: { [label.unclaimed]: null } },
    });
  }
  return hint;
}
