import { involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { isApiError } from '../../../src/kubernetes/api-error.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import {
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAnnotations,
} from '../../../src/kubernetes/volume.ts';
import type { VolumeSource } from '../../node/volume-provisioner.ts';
import type { ControllerContext } from '../controller.ts';
import {
  patchIfUnchanged,
  addFinalizer,
  hasFinalizer,
} from '../../../src/kubernetes/controllers/patch-if-unchanged.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { localVolume, volumeNameOf } from './local-volume.ts';
import { cloningFinalizer } from '../../../src/kubernetes/snapshot.ts';
import { keyOf } from '../../../src/kubernetes/controllers/informer.ts';
import { WorkQueue } from '../../../src/kubernetes/controllers/work-queue.ts';
import { decideBinding } from './binding-decision.ts';
import { resolveDataSource, type DataSource } from './data-source.ts';

export interface ProvisionRequest {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  /** Absent: any node. */
  readonly nodeName: string | undefined;
  /** Absent: an empty volume. */
  readonly source?: VolumeSource;
}

/**
 * Creates volumes for claims: the directory first, then the object (kubernetes-csi/external-provisioner).
 * Each step is idempotent, and the claim's next reconcile continues after the last one. If the directory
 * cannot be created, records an event and rejects.
 */
export function createProvisioning(context: ControllerContext): (order: ProvisionRequest) => Promise<void> {
  const { api, informers, provisioner } = context;
  const recorder = context.recorder(localProvisioner);

  async function provision({ claim, storageClass, nodeName, source }: ProvisionRequest): Promise<void> {
    const node = nodeName === undefined ? informers.nodes.list()[0] : informers.nodes.get(nodeName);
    const missing =
      node === undefined
        ? `node ${nodeName ?? ''} for the volume does not exist`
        : missingClass(claim.spec.volumeAttributesClassName);
    if (node === undefined || missing !== undefined) {
      if (claim.status?.phase !== 'Pending') {
        await patchIfUnchanged(
          api,
          persistentVolumeClaims,
          claim,
          { status: { phase: 'Pending' } },
          'status',
        );
      }
      recordFailure(claim, 'ProvisioningFailed', missing ?? '');
      return;
    }
    if (claim.metadata.annotations?.[volumeAnnotations.storageProvisioner] !== localProvisioner) {
      const annotations = { [volumeAnnotations.storageProvisioner]: localProvisioner };
      await patchIfUnchanged(api, persistentVolumeClaims, claim, { metadata: { annotations } });
      return;
    }
    const path = await makeDirectory(claim, source);
    try {
      await api.create(persistentVolumes, localVolume({ claim, storageClass, node, path }));
    } catch (error) {
      // The name contains the claim's uid, so an existing volume is from an earlier try.
      if (!isApiError(error, 409, 'AlreadyExists')) {
        throw error;
      }
    }
    recordFailure(claim, 'ProvisioningSucceeded', `Successfully provisioned volume ${volumeNameOf(claim)}`);
  }

  function missingClass(name: string | undefined): string | undefined {
    return name === undefined || informers.attributesClasses.get(name) !== undefined
      ? undefined
      : `volumeattributesclass.storage.k8s.io "${name}" not found`;
  }

  async function makeDirectory(
    claim: PersistentVolumeClaim,
    source: VolumeSource | undefined,
  ): Promise<string> {
    const { volumeAttributesClassName = '', storageClassName = '' } = claim.spec;
    const name = volumeNameOf(claim);
    try {
      const path = await provisioner.provision(name, source);
      const parameters = informers.attributesClasses.get(volumeAttributesClassName)?.parameters;
      if (parameters !== undefined) {
        await provisioner.modify(name, parameters);
      }
      return path;
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      const message = `failed to provision volume with StorageClass "${storageClassName}": ${cause}`;
      recordFailure(claim, 'ProvisioningFailed', message);
      throw error;
    }
  }

  function recordFailure(claim: PersistentVolumeClaim, reason: string, message: string): void {
    const type = reason === 'ProvisioningSucceeded' ? 'Normal' : 'Warning';
    recorder.record(involved('PersistentVolumeClaim', claim), { type, reason, message });
  }

  return provision;
}

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
      recorder.record(involved('PersistentVolumeClaim', claim), {
        type: 'Warning',
        reason: 'ProvisioningFailed',
        message: answer.refusal,
      });
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
