import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  volumeAnnotations,
} from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import type { EventDetails } from '../runtime/event-recorder.ts';
import { patchIfUnchanged } from '../runtime/finalizers.ts';
import { keyOf } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { decideBinding } from './binding-decision.ts';
import { createProvisioning } from './provisioning.ts';

/**
 * Binds claims to volumes and provisions volumes of class `local` (kubernetes:
 * pkg/controller/volume/persistentvolume/pv_controller.go). Each write is conditional on the state that was
 * read, and the next reconcile continues after a crash.
 */
export function createClaimBinder(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const binderRecorder = context.recorder('persistentvolume-controller');
  const provision = createProvisioning(context);
  const queue = new WorkQueue('claim-binder', reconcile, context);

  informers.claims.onChange(({ key }) => {
    queue.add(key);
  });
  informers.volumes.onChange(({ before, after }) => {
    const reference = (after ?? before)?.spec.claimRef;
    if (reference === undefined) {
      addPending();
    } else {
      queue.add(`${reference.namespace}/${reference.name}`);
    }
  });
  informers.classes.onChange(addPending);
  informers.nodes.onChange(({ before, after }) => {
    if (before === undefined || after === undefined) {
      addPending();
    }
  });

  function addPending(): void {
    for (const claim of informers.claims.list()) {
      if (claim.status?.phase !== 'Bound') {
        queue.add(keyOf(claim));
      }
    }
  }

  async function reconcile(key: string): Promise<void> {
    const claim = informers.claims.get(key);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) {
      return;
    }
    if (claim.metadata.annotations?.[volumeAnnotations.bindCompleted] === undefined) {
      await bindOrProvision(claim);
    } else {
      await checkBound(claim);
    }
  }

  async function bindOrProvision(claim: PersistentVolumeClaim): Promise<void> {
    if (claim.spec.storageClassName === undefined && (await adoptDefaultClass(claim))) {
      return;
    }
    const decision = decideBinding({
      claim,
      volumes: informers.volumes.list(),
      storageClass: informers.classes.get(claim.spec.storageClassName ?? ''),
    });
    switch (decision.kind) {
      case 'bind':
        await bind(claim, decision.volume);
        break;
      case 'provision':
        // The source provisioner handles claims with a source: copying here would delay all other claims.
        if (claim.spec.dataSourceRef === undefined) {
          await provision({ claim, storageClass: decision.storageClass, nodeName: decision.nodeName });
        } else {
          await setPhase(claim, 'Pending');
        }
        break;
      case 'wait':
        if (
          decision.provisioner !== undefined &&
          (await assignExternalProvisioner(claim, decision.provisioner))
        )
          return;
        await setPhase(claim, 'Pending');
        recordEvent(claim, decision.news);
        break;
      default:
        decision satisfies never;
    }
  }

  /** The annotation assigns the claim to that provisioner (pv_controller.go, setClaimProvisioner). */
  async function assignExternalProvisioner(
    claim: PersistentVolumeClaim,
    provisioner: string,
  ): Promise<boolean> {
    if (claim.metadata.annotations?.[volumeAnnotations.storageProvisioner] === provisioner) {
      return false;
    }
    const annotations = { [volumeAnnotations.storageProvisioner]: provisioner };
    await patchIfUnchanged(api, persistentVolumeClaims, claim, { metadata: { annotations } });
    return true;
  }

  /**
   * Sets the default class on a claim without a class as soon as there is one (stable since Kubernetes 1.28).
   */
  async function adoptDefaultClass(claim: PersistentVolumeClaim): Promise<boolean> {
    const standard = informers.classes
      .list()
      .find(({ metadata }) => metadata.annotations?.[volumeAnnotations.defaultClass] === 'true');
    if (standard === undefined) {
      return false;
    }
    await patchIfUnchanged(api, persistentVolumeClaims, claim, {
      spec: { storageClassName: standard.metadata.name },
    });
    return true;
  }

  async function bind(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const { namespace = '', name = '', uid = '' } = claim.metadata;
    if (volume.spec.claimRef?.uid !== uid) {
      const annotations =
        volume.spec.claimRef === undefined ? { [volumeAnnotations.boundByController]: 'yes' } : {};
      const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid };
      await patchIfUnchanged(api, persistentVolumes, volume, {
        metadata: { annotations },
        spec: { claimRef },
      });
      // The change of the volume adds this claim to the queue again.
      return;
    }
    const boundByController =
      claim.spec.volumeName === undefined || claim.spec.volumeName === ''
        ? { [volumeAnnotations.boundByController]: 'yes' }
        : {};
    const bound = await patchIfUnchanged(api, persistentVolumeClaims, claim, {
      metadata: { annotations: { [volumeAnnotations.bindCompleted]: 'yes', ...boundByController } },
      spec: { volumeName: volume.metadata.name },
    });
    if (bound !== undefined) {
      await setBound(bound, volume);
    }
  }

  async function checkBound(claim: PersistentVolumeClaim): Promise<void> {
    const volume = await findVolume(claim.spec.volumeName ?? '');
    if (volume === undefined) {
      await markLost(
        claim,
        'ClaimLost',
        'Bound claim has lost its PersistentVolume. Data on the volume is lost!',
      );
      return;
    }
    if (volume.spec.claimRef?.uid !== claim.metadata.uid) {
      await markLost(
        claim,
        'ClaimMisbound',
        'Two claims are bound to the same volume, this one is bound incorrectly',
      );
      return;
    }
    await setBound(claim, volume);
  }

  /** Reads from the API server if the cache lacks the volume: a stale cache must not mark a claim as lost. */
  async function findVolume(name: string): Promise<PersistentVolume | undefined> {
    const known = informers.volumes.get(name);
    if (known !== undefined) {
      return known;
    }
    try {
      return await api.get<PersistentVolume>({ resource: persistentVolumes, name });
    } catch (error) {
      if (isApiError(error, 404)) {
        return undefined;
      }
      throw error;
    }
  }

  async function markLost(claim: PersistentVolumeClaim, reason: string, message: string): Promise<void> {
    if (claim.status?.phase !== 'Lost') {
      await setPhase(claim, 'Lost');
      recordEvent(claim, { type: 'Warning', reason, message });
    }
  }

  async function setBound(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    if (claim.status?.phase === 'Bound') {
      return;
    }
    const { accessModes = [], capacity = {}, volumeAttributesClassName } = volume.spec;
    const attributes =
      volumeAttributesClassName === undefined
        ? {}
        : { currentVolumeAttributesClassName: volumeAttributesClassName };
    const status = { phase: 'Bound', accessModes, capacity, ...attributes };
    await patchIfUnchanged(api, persistentVolumeClaims, claim, { status }, 'status');
  }

  async function setPhase(claim: PersistentVolumeClaim, phase: 'Pending' | 'Lost'): Promise<void> {
    if (claim.status?.phase !== phase) {
      await patchIfUnchanged(api, persistentVolumeClaims, claim, { status: { phase } }, 'status');
    }
  }

  function recordEvent(claim: PersistentVolumeClaim, news: EventDetails | undefined): void {
    if (news !== undefined) {
      binderRecorder.record({ kind: 'PersistentVolumeClaim', apiVersion: 'v1', object: claim }, news);
    }
  }

  return queue;
}
