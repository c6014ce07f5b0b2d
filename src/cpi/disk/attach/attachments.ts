import type { Stored } from '../../../kubernetes/object.ts';
import { vmNotFound, recreateHint } from '../../vm/vms.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import type { CallContext } from '../../call.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { AttachmentPod } from './attachment-pod.ts';
import { findClaims, wouldDeleteData } from './retained-claims.ts';

/**
 * Deletes the attachment pods of a terminating VM; does nothing for any other VM. The VM's pod cannot end
 * before them, and without a preStop hook they do not notice, so every verb that sees such a VM calls this.
 * Keeps two kinds: (1) the claim was deleted by another program: the container has unmounted the disk, and
 * the volume would be deleted with the pod; (2) the attachment pod is terminal: no container runs that waits
 * for the jobs, so the disk would become free for another VM too early. Model: hot.pml
 */
export async function deleteAttachmentsOfTerminatingVm(call: CallContext, vm: Pod): Promise<void> {
  const { deletionTimestamp, name } = vm.metadata;
  if (deletionTimestamp === undefined) return;
  const attachmentPods = await AttachmentPod.listOfVm(call, name);
  const claims = await findClaims(
    call,
    attachmentPods.map(({ diskCid }) => diskCid),
  );
  const lost = claims.flatMap((claim) =>
    claim !== undefined && wouldDeleteData(claim) ? [claim.metadata.name] : [],
  );
  for (const attachmentPod of attachmentPods) {
    if (attachmentPod.isTerminating || attachmentPod.isTerminal) continue;
    if (!lost.includes(attachmentPod.diskCid)) await attachmentPod.delete();
  }
}

/** Returns the pod of a VM. Rejects with VM_NOT_FOUND if the pod is missing or terminating. */
export async function requireActiveVm(
  call: CallContext,
  cid: string,
  vm: Stored<Pod> | undefined,
): Promise<Stored<Pod>> {
  if (vm === undefined) throw vmNotFound(call, cid);
  if (vm.metadata.deletionTimestamp === undefined) return vm;
  await deleteAttachmentsOfTerminatingVm(call, vm);
  throw new ProductError('VM_NOT_FOUND', `VM '${cid}' is being deleted; when it is deleted, ${recreateHint}`);
}
