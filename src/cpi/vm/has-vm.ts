import type { Cloud } from '../cloud.ts';
import { letGoWhereTerminating } from '../disk/attach/let-go.ts';
import { findVm } from './find-vm.ts';

/** has_vm(vm_cid): true while the pod exists, whatever its state; false for anything that is no cid of ours. */
export async function hasVm(cloud: Cloud, args: readonly unknown[]): Promise<boolean> {
  const vm = await findVm(cloud, args[0]);
  if (vm !== undefined) await letGoWhereTerminating(cloud, vm);
  return vm !== undefined;
}
