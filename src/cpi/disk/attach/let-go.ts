import type { Pod } from '../../../kubernetes/pod.ts';
import type { CallContext } from '../../cloud.ts';
import { diskCidOf, listAttachments, deleteAttachmentPod } from './attachments.ts';
import { isTerminal } from './has-bound.ts';
import { claimsOf, wouldDeleteData } from './refuse-loss.ts';

/**
 * Ends the attachments of a VM that is being deleted; does nothing for any other. Its pod cannot go before them, and
 * they notice its end by themselves only where its preStop hook could run, so every verb that meets it does this. One
 * whose claim was deleted by somebody keeps it: the holder has let go of the disk, and the data would go with the pod. So does
 * one that its kubelet has ended: no holder is left that waits for the jobs, and the disk would be free at once for another VM.
 * Model: hot.pml
 */
export async function deleteAttachmentsOfTerminatingVm(cloud: CallContext, vm: Pod): Promise<void> {
  const { deletionTimestamp, name = '' } = vm.metadata;
  if (deletionTimestamp === undefined) return;
  const attachments = await listAttachments(cloud, name);
  const claims = await claimsOf(cloud, attachments.map(diskCidOf));
  const lost = claims.flatMap((claim) =>
    claim !== undefined && wouldDeleteData(claim) ? [claim.metadata.name] : [],
  );
  for (const attachment of attachments) {
    if (attachment.metadata.deletionTimestamp !== undefined || lost.includes(diskCidOf(attachment))) continue;
    if (isTerminal(attachment)) continue;
    await deleteAttachmentPod(cloud, attachment);
  }
}
