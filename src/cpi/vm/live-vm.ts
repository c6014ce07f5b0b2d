import { ProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import type { CallContext } from '../cloud.ts';
import { deleteAttachmentsOfTerminatingVm } from '../disk/attach/let-go.ts';
import { vmContainerStatus } from '../own-containers.ts';
import { recreateHint, vmNotFound } from './find-vm.ts';

/** Returns the pod of a VM. Rejects with VM_NOT_FOUND if the pod is missing or terminating. */
export async function requireActiveVm(cloud: CallContext, cid: string, vm: Pod | undefined): Promise<Pod> {
  if (vm === undefined) throw vmNotFound(cloud, cid);
  if (vm.metadata.deletionTimestamp === undefined) return vm;
  await deleteAttachmentsOfTerminatingVm(cloud, vm);
  throw new ProductError('VM_NOT_FOUND', `VM '${cid}' is being deleted; when it is gone, ${recreateHint}`);
}

/** True while the VM's container runs. */
export const isVmRunning = ({ status }: Pod): boolean =>
  vmContainerStatus(status?.containerStatuses)?.state?.running !== undefined;
