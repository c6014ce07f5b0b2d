import { ProductError } from '../../../errors/product-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { CallContext } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import { findVm } from '../../vm/find-vm.ts';
import { vmCidOf } from './attachments.ts';
import { isMountedInVm } from './is-mounted.ts';
import type { TakenOver } from './take-over.ts';
import { adoptMount } from './take-over.ts';

/**
 * Replaces an attachment pod that cannot be reached, because it is terminal (`isTerminal`) or deleted, by a
 * running one that adopts the existing mount. `mark`: that of the last attach_disk that the caller knows of.
 * Returns undefined if the VM has nothing mounted any more. Rejects as `adoptMount` and `refuseMounted` do.
 * Model: hot.pml
 */
export async function replaceTerminalAttachment(
  cloud: CallContext,
  former: { readonly attachment: Pod; readonly mark: number },
  diskCid: string,
): Promise<TakenOver | undefined> {
  const { attachment } = former;
  const vm = await findVm(cloud, vmCidOf(attachment));
  if (vm === undefined || vm.metadata.uid !== attachment.metadata.annotations?.[annotation.vmUid])
    return undefined;
  if (vm.metadata.deletionTimestamp === undefined) return adoptMount(cloud, vm, { diskCid, former });
  await refuseMounted(cloud, vm, diskCid);
  return undefined;
}

/**
 * Rejects with DISK_BUSY if a terminating VM has the disk mounted without an attachment pod that runs.
 * Model: hot.pml
 */
export async function refuseMounted(cloud: CallContext, vm: Pod, diskCid: string): Promise<void> {
  if (!(await isMountedInVm(cloud, vm, diskCid))) return;
  throw new ProductError(
    'DISK_BUSY',
    `disk '${diskCid}' is still mounted in VM '${vm.metadata.name ?? ''}', which is being deleted, and its attachment has ended; delete the VM, which takes the disk out`,
  );
}
