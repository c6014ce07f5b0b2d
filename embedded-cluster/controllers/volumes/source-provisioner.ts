import { persistentVolumeClaims } from '../../../src/kubernetes/resources.ts';
import {
  cloningFinalizer,
  type PersistentVolumeClaim,
  volumeAnnotations,
} from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { addFinalizer, hasFinalizer } from '../runtime/finalizers.ts';
import { keyOf } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { decideBinding } from './binding-decision.ts';
import { resolveDataSource, type DataSource } from './claim-source.ts';
import { createProvisioning } from './provisioning.ts';

/**
 * Creates volumes of class `local` for claims with a data source (kubernetes-csi/external-provisioner). It
 * has its own queue, because copies take long. A finalizer keeps a claim that is cloned until its clones are
 * bound.
 */
export function createSourceProvisioner(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const recorder = context.recorder(localProvisioner);
  const provision = createProvisioning(context);
  const queue = new WorkQueue('source-provisioner', reconcile, context);

  for (const informer of [
    informers.claims,
    informers.classes,
    informers.attributesClasses,
    informers.snapshots,
  ]) {
    informer.onChange(() => {
      for (const claim of informers.claims.list().filter(isPending)) {
        queue.add(keyOf(claim));
      }
    });
  }

  async function reconcile(key: string): Promise<void> {
    const claim = informers.claims.get(key);
    if (claim === undefined || !isPending(claim)) {
      return;
    }
    const decision = decideBinding({
      claim,
      volumes: informers.volumes.list(),
      storageClass: informers.classes.get(claim.spec.storageClassName ?? ''),
    });
    if (decision.kind !== 'provision') {
      return;
    }
    const answer = findSource(claim);
    if ('refusal' in answer) {
      recorder.record(
        { kind: 'PersistentVolumeClaim', apiVersion: 'v1', object: claim },
        { type: 'Warning', reason: 'ProvisioningFailed', message: answer.refusal },
      );
      return;
    }
    if (answer.protect !== undefined && !hasFinalizer(answer.protect, cloningFinalizer)) {
      await addFinalizer(api, persistentVolumeClaims, answer.protect, cloningFinalizer);
      // The change of the source adds this claim to the queue again.
      return;
    }
    await provision({ ...decision, claim, source: answer.source });
  }

  function findSource(claim: PersistentVolumeClaim): DataSource {
    return resolveDataSource(claim, {
      claim: (key) => informers.claims.get(key),
      volume: (name) => informers.volumes.get(name),
      snapshot: (key) => informers.snapshots.get(key),
      content: (name) => informers.snapshotContents.get(name),
    });
  }

  return queue;
}

/** Returns true for a claim with a source that is not bound yet. */
function isPending({ metadata, spec }: PersistentVolumeClaim): boolean {
  return (
    spec.dataSourceRef !== undefined &&
    metadata.deletionTimestamp === undefined &&
    metadata.annotations?.[volumeAnnotations.bindCompleted] === undefined
  );
}
