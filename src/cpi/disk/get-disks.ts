import type { CallContext } from '../call.ts';
import type { VmCidRequest } from '../protocol/methods.ts';
import { findVm, vmNotFound } from '../vm/vms.ts';
import { deleteAttachmentsOfTerminatingVm, diskCidOf, listAttachments } from './attach/attachments.ts';
import { strategyOf } from './attach/strategy.ts';

/** get_disks(vm_cid): returns the cids of the attached disks. VM_NOT_FOUND without the VM. */
export async function getDisks(call: CallContext, { vmCid: cid }: VmCidRequest): Promise<string[]> {
  const vm = await findVm(call, cid);
  if (vm === undefined || strategyOf(vm) === 'recreate') {
    const { disksOfVm: disksOfRecreatedVm, findRecreateStrategyVm: findRecreatedVm } = await import('./attach/recreate.ts');
    const recreated = await findRecreatedVm(call, cid, vm);
    if (recreated === undefined) throw vmNotFound(call, cid);
    return disksOfRecreatedVm(recreated);
  }
  await deleteAttachmentsOfTerminatingVm(call, vm);
  const attachments = await listAttachments(call, cid);
  return attachments.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(diskCidOf);
}
