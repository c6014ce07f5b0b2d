import { persistentVolumeClaims, volumeSnapshots } from '../../../src/kubernetes/resources.ts';
import {
  type VolumeSnapshot,
  cloningFinalizer,
  snapshotFinalizers,
  type PersistentVolumeClaim,
} from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { hasFinalizer, removeFinalizer } from '../runtime/finalizers.ts';
import { WorkQueue } from '../runtime/work-queue.ts';

/**
 * Removes the finalizers of a claim that is copied: the clone-source finalizer once no clone of the claim is
 * pending (external-provisioner pkg/controller/clone_controller.go), and the snapshot finalizer once all
 * snapshots of it are ready or terminating (external-snapshotter pkg/common-controller,
 * checkandRemovePVCFinalizer).
 */
export function createSourceProtection(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const queue = new WorkQueue('source-protection', reconcile, context);

  informers.claims.onChange(({ key, before, after }) => {
    queue.add(key);
    const claim = after ?? before;
    if (claim?.spec.dataSourceRef?.kind === 'PersistentVolumeClaim') {
      queue.add(`${claim.metadata.namespace ?? ''}/${claim.spec.dataSourceRef.name}`);
    }
  });

  informers.snapshots.onChange(({ before, after }) => {
    const snapshot = after ?? before;
    const name = snapshot?.spec.source.persistentVolumeClaimName;
    if (name !== undefined) {
      queue.add(`${snapshot?.metadata.namespace ?? ''}/${name}`);
    }
  });

  async function reconcile(key: string): Promise<void> {
    const claim = informers.claims.get(key);
    if (claim === undefined) {
      return;
    }
    if (hasFinalizer(claim, cloningFinalizer) && !(await hasPendingClone(claim))) {
      await removeFinalizer(api, persistentVolumeClaims, claim, cloningFinalizer);
    } else if (hasFinalizer(claim, snapshotFinalizers.claimIsSource) && !(await hasPendingSnapshot(claim))) {
      await removeFinalizer(api, persistentVolumeClaims, claim, snapshotFinalizers.claimIsSource);
    }
  }

  async function hasPendingSnapshot({ metadata }: PersistentVolumeClaim): Promise<boolean> {
    const { items } = await api.list<VolumeSnapshot>(volumeSnapshots, { namespace: metadata.namespace });
    return items.some(
      (snapshot) =>
        snapshot.spec.source.persistentVolumeClaimName === metadata.name &&
        snapshot.metadata.deletionTimestamp === undefined &&
        snapshot.status?.readyToUse !== true,
    );
  }

  /** Reads from the API server, not the cache: a stale cache must not cause data loss. */
  async function hasPendingClone({ metadata }: PersistentVolumeClaim): Promise<boolean> {
    const { items } = await api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
      namespace: metadata.namespace,
    });
    return items.some(
      ({ spec, status }) =>
        spec.dataSourceRef?.kind === 'PersistentVolumeClaim' &&
        spec.dataSourceRef.name === metadata.name &&
        status?.phase !== 'Bound',
    );
  }

  return queue;
}
