import type { Pod } from '../../../kubernetes/pod.ts';
import type { CallContext } from '../../cloud.ts';
import { diskCidOf, listAttachments, deleteAttachmentPod } from './attachments.ts';
import { isTerminal } from './has-bound.ts';
import { claimsOf, wouldDeleteData } from './refuse-loss.ts';

/**
 * Deletes the attachment pods of a terminating VM; does nothing for any other VM. The VM's pod cannot end
 * before them, and without a preStop hook they do not notice, so every verb that sees such a VM calls this.
 * Keeps two kinds: (1) the claim was deleted by another program: the container has unmounted the disk, and
 * the volume would be deleted with the pod; (2) the attachment pod is terminal: no container is left that
 * waits for the jobs, so the disk would become free for another VM too early. Model: hot.pml
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
