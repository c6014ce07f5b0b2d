import type { Pod } from '../../../kubernetes/pod.ts';
import type { Cloud } from '../../cloud.ts';
import { listAttachments, requestEnd } from './attachments.ts';

/**
 * Ends the attachments of a VM that is being deleted; does nothing for any other. Its pod cannot go before them, and
 * they notice its end by themselves only where its preStop hook could run, so every verb that meets it does this.
 */
export async function letGoWhereTerminating(cloud: Cloud, vm: Pod): Promise<void> {
  const { deletionTimestamp, name = '' } = vm.metadata;
  if (deletionTimestamp === undefined) return;
  const attachments = await listAttachments(cloud, name);
  for (const attachment of attachments) {
    if (attachment.metadata.deletionTimestamp === undefined) await requestEnd(cloud, attachment);
  }
}
