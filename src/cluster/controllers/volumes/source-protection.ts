import { persistentVolumeClaims } from '../../../kubernetes/resources.ts';
import { cloningFinalizer } from '../../../kubernetes/snapshot.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { hasFinalizer, removeFinalizer } from '../runtime/finalizers.ts';
import { WorkQueue } from '../runtime/work-queue.ts';

/**
 * Lets a claim go that was cloned from, once none of its clones is pending
 * (external-provisioner pkg/controller/clone_controller.go).
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

  async function reconcile(key: string): Promise<void> {
    const claim = informers.claims.get(key);
    if (claim === undefined || !hasFinalizer(claim, cloningFinalizer) || (await isCloned(claim))) {
      return;
    }
    await removeFinalizer(api, persistentVolumeClaims, claim, cloningFinalizer);
  }

  /** Asks the API server: a source goes on good grounds only. */
  async function isCloned({ metadata }: PersistentVolumeClaim): Promise<boolean> {
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
