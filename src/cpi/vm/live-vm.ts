import { ProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import type { Cloud } from '../cloud.ts';
import { letGoWhereTerminating } from '../disk/attach/let-go.ts';
import { vmContainerOf } from '../own-containers.ts';
import { recreateIt, vmNotFound } from './find-vm.ts';

/** The pod of a VM that was found, if it is there to stay. Rejects with VM_NOT_FOUND where it is not. */
export async function requireLive(cloud: Cloud, cid: string, vm: Pod | undefined): Promise<Pod> {
  if (vm === undefined) throw vmNotFound(cloud, cid);
  if (vm.metadata.deletionTimestamp === undefined) return vm;
  await letGoWhereTerminating(cloud, vm);
  throw new ProductError('VM_NOT_FOUND', `VM '${cid}' is being deleted; when it is gone, ${recreateIt}`);
}

/** True while the VM's container runs. */
export const isVmRunning = ({ status }: Pod): boolean =>
  vmContainerOf(status?.containerStatuses)?.state?.running !== undefined;
