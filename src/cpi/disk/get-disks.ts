import type { CallContext } from '../call.ts';
import type { VmCidRequest } from '../protocol/methods.ts';
import { findVm } from '../vm/vms.ts';
import { diskAttacher } from './attach/strategy.ts';

/** get_disks(vm_cid): returns the cids of the attached disks. VM_NOT_FOUND without the VM. */
export async function getDisks(call: CallContext, { vmCid }: VmCidRequest): Promise<string[]> {
  const attacher = await diskAttacher(call, vmCid, await findVm(call, vmCid));
  return attacher.disks();
}
