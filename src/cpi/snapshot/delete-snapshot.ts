import { isApiError } from '../../kubernetes/client/api-error.ts';
import { volumeSnapshots } from '../../kubernetes/resources.ts';
import type { VolumeSnapshot } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import type { DeleteSnapshotRequest } from '../protocol/methods.ts';
import { claimReference } from '../disk/disks.ts';
import { isManaged } from '../objects/labels.ts';
import { isSnapshotCid } from '../objects/names.ts';
import { removeSnapshot } from './take-snapshot.ts';

/**
 * delete_snapshot(snapshot_cid): returns when the snapshot is deleted. A missing one, and an object that is
 * not a snapshot of the CPI, is success.
 */
export async function deleteSnapshot(
  call: CallContext,
  { snapshotCid: cid }: DeleteSnapshotRequest,
): Promise<null> {
  if (!isSnapshotCid(cid)) return null;
  const reference = { ...claimReference(call, cid), resource: volumeSnapshots };
  try {
    const snapshot = await call.api.get<VolumeSnapshot>(reference);
    if (isManaged(snapshot, 'snapshot')) await removeSnapshot(call, reference, snapshot.metadata.uid);
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
  }
  return null;
}
