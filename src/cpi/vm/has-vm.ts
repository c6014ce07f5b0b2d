import type { CallContext } from '../call.ts';
import { deleteAttachmentsOfTerminatingVm } from '../disk/attach/attachments.ts';
import { findVm } from './vms.ts';

/** has_vm(vm_cid): true while the pod exists, in any state; false for a text that is not a VM cid. */
export async function hasVm(call: CallContext, args: readonly unknown[]): Promise<boolean> {
  const vm = await findVm(call, args[0]);
  if (vm !== undefined) await deleteAttachmentsOfTerminatingVm(call, vm);
  return vm !== undefined;
}
