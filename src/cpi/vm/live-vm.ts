import { ProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import type { Cloud } from '../cloud.ts';
import { letGoWhereTerminating } from '../disk/attach/let-go.ts';
import { findVm, vmNotFound } from './find-vm.ts';

/** The pod of a VM that is there to stay. Rejects with VM_NOT_FOUND where there is none, or where it is being deleted. */
export async function liveVm(cloud: Cloud, cid: string): Promise<Pod> {
  return requireLive(cloud, cid, await findVm(cloud, cid));
}

/** The same for the pod that was found, if one was. */
export async function requireLive(cloud: Cloud, cid: string, vm: Pod | undefined): Promise<Pod> {
  if (vm === undefined) throw vmNotFound(cloud, cid);
  if (vm.metadata.deletionTimestamp === undefined) return vm;
  await letGoWhereTerminating(cloud, vm);
  throw new ProductError('VM_NOT_FOUND', `VM '${cid}' is being deleted`);
}
