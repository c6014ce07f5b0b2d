import { ProductError } from '../../../errors/product-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { Cloud } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import { findVm } from '../../vm/find-vm.ts';
import { vmCidOf } from './attachments.ts';
import { isMountedInVm, isMountedOrComesBack } from './is-mounted.ts';
import { takeOver } from './take-over.ts';

/**
 * For an attachment in which nothing runs any more (`isEnded`): a new one, which has taken over what is mounted in the VM and can be
 * asked for it, or the same where the VM has nothing mounted any more. Rejects as `isMountedInVm` does, and with DISK_BUSY where
 * the VM is on its way out and has the disk.
 */
export async function succeedEnded(cloud: Cloud, attachment: Pod, diskCid: string): Promise<Pod> {
  const vmCid = vmCidOf(attachment);
  const vm = await findVm(cloud, vmCid);
  if (vm === undefined || vm.metadata.uid !== attachment.metadata.annotations?.[annotation.vmUid])
    return attachment;
  if (vm.metadata.deletionTimestamp === undefined) {
    return (await takeOver(cloud, vm, diskCid, isMountedOrComesBack)) ?? attachment;
  }
  if (!(await isMountedInVm(cloud, vm, diskCid))) return attachment;
  throw new ProductError(
    'DISK_BUSY',
    `disk '${diskCid}' is still mounted in VM '${vmCid}', which is being deleted, and its attachment has ended; delete the VM, which takes the disk out`,
  );
}
