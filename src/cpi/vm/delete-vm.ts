import type { CallContext } from '../cloud.ts';
import { stringAt } from '../input.ts';
import { isVmCid } from '../names.ts';
import { removeVm } from './remove-vm.ts';

/**
 * delete_vm(vm_cid): returns when all objects of the VM are deleted. A missing VM is success; its disks stay.
 */
export async function deleteVm(cloud: CallContext, args: readonly unknown[]): Promise<null> {
  const cid = stringAt(args[0], { code: 'INVALID_ARGUMENT', path: 'delete_vm.vm_cid' });
  if (isVmCid(cid)) await removeVm(cloud, cid);
  return null;
}
