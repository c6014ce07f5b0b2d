import type { CallContext } from '../../call.ts';
import { findVm } from '../../vm/vms.ts';
import type { PersistentVolumeClaim } from '../disks.ts';
import { lastVm } from './attachment-record.ts';

/**
 * For a disk without an attachment pod, returns the cid of the VM that it was last attached to, if that VM
 * has it mounted, or waits for its restart and will have it mounted then. A VM in another namespace with the
 * same `disk_namespace` cannot be checked. Sends no request if a detach_disk has detached the disk. Rejects
 * as `isMountedOrRestarting` does. Model: hot.pml
 */
export async function vmWithLeftoverMount(
  call: CallContext,
  claim: PersistentVolumeClaim,
): Promise<string | undefined> {
  const last = lastVm(claim);
  if (last === undefined || last.namespace !== call.namespace) return undefined;
  const vm = await findVm(call, last.cid);
  if (vm === undefined || vm.metadata.uid !== last.uid) return undefined;
  const { isMountedOrRestarting } = await import('./container-commands.ts');
  return (await isMountedOrRestarting(call, vm, claim.metadata.name ?? '')) ? last.cid : undefined;
}
