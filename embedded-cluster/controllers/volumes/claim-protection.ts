import type { Pod } from '../../../src/kubernetes/pod.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeSnapshots,
} from '../../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../src/kubernetes/volume.ts';
import type { ControllerContext } from '../controller.ts';
import {
  addFinalizer,
  isBlockedBy,
  hasFinalizer,
  removeFinalizer,
} from '../../../src/kubernetes/controllers/patch-if-unchanged.ts';
import { WorkQueue } from '../../../src/kubernetes/controllers/work-queue.ts';
import { isTerminal, podClaims } from './pod-claims.ts';
import {
  type VolumeSnapshot,
  cloningFinalizer,
  snapshotFinalizers,
} from '../../../src/kubernetes/snapshot.ts';

const claimFinalizer = 'kubernetes.io/pvc-protection';
const volumeFinalizer = 'kubernetes.io/pv-protection';

/**
 * Keeps a claim that is being deleted while a pod uses it (kubernetes: pkg/controller/volume/pvcprotection).
 */
export function createClaimProtection(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const queue = new WorkQueue('claim-protection', reconcile, context);

  informers.claims.onChange(({ key }) => {
    queue.add(key);
  });
  informers.pods.onChange(({ before, after }) => {
    const pod = after ?? before;
    if (pod !== undefined && (after === undefined || isTerminal(after))) {
      for (const { name } of podClaims(pod)) {
        queue.add(`${pod.metadata.namespace ?? ''}/${name}`);
      }
    }
  });

  async function reconcile(key: string): Promise<void> {
    const claim = informers.claims.get(key);
    if (claim === undefined) {
      return;
    }
    if (claim.metadata.deletionTimestamp === undefined) {
      if (!hasFinalizer(claim, claimFinalizer)) {
        await addFinalizer(api, persistentVolumeClaims, claim, claimFinalizer);
      }
      return;
    }
    if (hasFinalizer(claim, claimFinalizer) && !(await isUsed(claim))) {
      await removeFinalizer(api, persistentVolumeClaims, claim, claimFinalizer);
    }
  }

  /** Reads from the API server, not the cache: a pod that was just created must count. */
  function isUsed(claim: PersistentVolumeClaim): Promise<boolean> {
    const { namespace } = claim.metadata;
    return api.anyMatch(pods, { namespace }, (pod) => usesClaim(pod as Pod, claim));
  }

  return queue;
}

/** Pods without a node do not count: no kubelet starts a pod whose claim is being deleted. */
function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  return (
    pod.spec.nodeName !== undefined &&
    pod.spec.nodeName !== '' &&
    !isTerminal(pod) &&
    podClaims(pod).some(({ name }) => name === claim.metadata.name)
  );
}

/**
 * Keeps a volume that is being deleted while it is bound (kubernetes: pkg/controller/volume/pvprotection).
 */
export function createVolumeProtection(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const queue = new WorkQueue('volume-protection', reconcile, context);

  informers.volumes.onChange(({ key }) => {
    queue.add(key);
  });

  async function reconcile(key: string): Promise<void> {
    const volume = informers.volumes.get(key);
    if (volume === undefined) {
      return;
    }
    if (volume.metadata.deletionTimestamp === undefined && !hasFinalizer(volume, volumeFinalizer)) {
      await addFinalizer(api, persistentVolumes, volume, volumeFinalizer);
      return;
    }
    if (isBlockedBy(volume, volumeFinalizer) && volume.status?.phase !== 'Bound') {
      await removeFinalizer(api, persistentVolumes, volume, volumeFinalizer);
    }
  }

  return queue;
}

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
