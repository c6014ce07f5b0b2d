import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims, persistentVolumes, pods } from '../../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { addFinalizer, isBlockedBy, hasFinalizer, removeFinalizer } from '../runtime/finalizers.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { isTerminal, podClaims } from './pod-claims.ts';

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
