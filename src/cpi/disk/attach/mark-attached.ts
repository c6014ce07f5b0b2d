import { ifThere } from '../../../kubernetes/if-there.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { Cloud } from '../../cloud.ts';
import { annotation, label } from '../../labels.ts';
import { dropCopy } from '../change/drop-copy.ts';
import type { PersistentVolumeClaim } from '../claim.ts';
import { claimReference } from '../claim.ts';
import { diskGone } from '../disk-not-found.ts';
import { freeOfDeadVm, refuseHeld } from './disk-lock.ts';

/**
 * Writes on the claim that the disk has that attachment, which is there by now. Whoever deletes the claim, or gives it to a VM
 * of the strategy `recreate`, does so on exactly a state that was read before it looked for attachments: either this write is a
 * conflict for it and it looks again, or it was first and is seen here: so is the copy of an update_disk that began after this call had
 * read the claim, and goes. Idempotent for an attachment. Rejects where the disk is being deleted, and with
 * DISK_ATTACHED_ELSEWHERE where a living VM has it.
 */
export async function markAttached(cloud: Cloud, diskCid: string, attachment: Pod): Promise<void> {
  const claim = await ifThere(
    cloud.api.patch<PersistentVolumeClaim>(claimReference(cloud, diskCid), {
      metadata: {
        labels: { [label.unclaimed]: null },
        annotations: { [annotation.attachment]: attachment.metadata.uid },
      },
    }),
  );
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined)
    throw diskGone(diskCid, 'was deleted meanwhile');
  await refuseHeld(cloud, claim);
  await freeOfDeadVm(cloud, claim);
  await dropCopy(cloud, claim);
}
