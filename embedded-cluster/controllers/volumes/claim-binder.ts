import type { Stored } from '../../../src/kubernetes/object.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import {
  involved,
  type EventDetails,
  type EventRecorder,
} from '../../../src/kubernetes/controllers/event-recorder.ts';
import { ignoreNotFound } from '../../../src/kubernetes/api.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  volumeAnnotations,
} from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../controller-context.ts';
import { patchSameVersion } from '../../../src/kubernetes/controllers/conditional-writes.ts';
import { keyOf } from '../../../src/kubernetes/controllers/informer.ts';
import { decideBinding } from './binding-decision.ts';
import { VolumeCreator } from './provisioning.ts';

type Context = ControllerContext<'attributesClasses' | 'claims' | 'classes' | 'nodes' | 'volumes'>;

/**
 * Binds claims to volumes and provisions volumes of class `local` (kubernetes:
 * pkg/controller/volume/persistentvolume/pv_controller.go). Each write is conditional on the state that was
 * read, and the next reconcile continues after a crash.
 */
export class ClaimBinder extends Controller {
  readonly #informers: Context['informers'];
  readonly #api: Context['api'];
  readonly #recorder: EventRecorder;
  readonly #provisioner: VolumeCreator;

  constructor(context: Context) {
    super('claim-binder', context);
    this.#informers = context.informers;
    this.#api = context.api;
    const { informers } = context;
    this.#recorder = context.recorder('persistentvolume-controller');
    this.#provisioner = new VolumeCreator(context);

    this.watch(informers.claims);

    informers.volumes.onChange(({ before, after }) => {
      const reference = (after ?? before)?.spec.claimRef;
      if (reference === undefined) {
        this.#addPending();
      } else {
        this.queue.add(`${reference.namespace}/${reference.name}`);
      }
    });

    informers.classes.onChange(() => this.#addPending());

    informers.nodes.onChange(({ before, after }) => {
      if (before === undefined || after === undefined) {
        this.#addPending();
      }
    });
  }

  #addPending(): void {
    for (const claim of this.#informers.claims.list()) {
      if (claim.status?.phase !== 'Bound') {
        this.queue.add(keyOf(claim));
      }
    }
  }

  protected override async reconcile(key: string): Promise<void> {
    const claim = this.#informers.claims.get(key);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) {
      return;
    }
    if (claim.metadata.annotations?.[volumeAnnotations.bindCompleted] === undefined) {
      await this.#bindOrProvision(claim);
    } else {
      await this.#checkBound(claim);
    }
  }

  async #bindOrProvision(claim: Stored<PersistentVolumeClaim>): Promise<void> {
    if (claim.spec.storageClassName === undefined && (await this.#adoptDefaultClass(claim))) {
      return;
    }
    const decision = decideBinding({
      claim,
      volumes: this.#informers.volumes.list(),
      storageClass: this.#informers.classes.get(claim.spec.storageClassName ?? ''),
    });
    switch (decision.kind) {
      case 'bind':
        await this.#bind(claim, decision.volume);
        break;
      case 'provision':
        // The source provisioner handles claims with a source: copying here would delay all other claims.
        if (claim.spec.dataSourceRef === undefined) {
          await this.#provisioner.provision({
            claim,
            storageClass: decision.storageClass,
            nodeName: decision.nodeName,
          });
        } else {
          await this.#setPhase(claim, 'Pending');
        }
        break;
      case 'wait':
        if (
          decision.provisioner !== undefined &&
          (await this.#assignExternalProvisioner(claim, decision.provisioner))
        )
          return;
        await this.#setPhase(claim, 'Pending');
        this.#recordEvent(claim, decision.news);
        break;
      default:
        decision satisfies never;
    }
  }

  /** The annotation assigns the claim to that provisioner (pv_controller.go, setClaimProvisioner). */
  async #assignExternalProvisioner(claim: PersistentVolumeClaim, provisioner: string): Promise<boolean> {
    if (claim.metadata.annotations?.[volumeAnnotations.storageProvisioner] === provisioner) {
      return false;
    }
    const annotations = { [volumeAnnotations.storageProvisioner]: provisioner };
    await patchSameVersion(this.#api, persistentVolumeClaims, claim, { metadata: { annotations } });
    return true;
  }

  /**
   * Sets the default class on a claim without a class as soon as there is one (stable since Kubernetes 1.28).
   */
  async #adoptDefaultClass(claim: PersistentVolumeClaim): Promise<boolean> {
    const standard = this.#informers.classes
      .list()
      .find(({ metadata }) => metadata.annotations?.[volumeAnnotations.defaultClass] === 'true');
    if (standard === undefined) {
      return false;
    }
    await patchSameVersion(this.#api, persistentVolumeClaims, claim, {
      spec: { storageClassName: standard.metadata.name },
    });
    return true;
  }

  async #bind(claim: Stored<PersistentVolumeClaim>, volume: PersistentVolume): Promise<void> {
    const { namespace, name, uid } = claim.metadata;
    if (volume.spec.claimRef?.uid !== uid) {
      const annotations =
        volume.spec.claimRef === undefined ? { [volumeAnnotations.boundByController]: 'yes' } : {};
      const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid };
      await patchSameVersion(this.#api, persistentVolumes, volume, {
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
    const bound = await patchSameVersion(this.#api, persistentVolumeClaims, claim, {
      metadata: { annotations: { [volumeAnnotations.bindCompleted]: 'yes', ...boundByController } },
      spec: { volumeName: volume.metadata.name },
    });
    if (bound !== undefined) {
      await this.#setBound(bound, volume);
    }
  }

  async #checkBound(claim: PersistentVolumeClaim): Promise<void> {
    const volume = await this.#findVolume(claim.spec.volumeName ?? '');
    if (volume === undefined) {
      await this.#markLost(
        claim,
        'ClaimLost',
        'Bound claim has lost its PersistentVolume. Data on the volume is lost!',
      );
      return;
    }
    if (volume.spec.claimRef?.uid !== claim.metadata.uid) {
      await this.#markLost(
        claim,
        'ClaimMisbound',
        'Two claims are bound to the same volume, this one is bound incorrectly',
      );
      return;
    }
    await this.#setBound(claim, volume);
  }

  /** Reads from the API server if the cache lacks the volume: a stale cache must not mark a claim as lost. */
  async #findVolume(name: string): Promise<PersistentVolume | undefined> {
    const known = this.#informers.volumes.get(name);
    return known ?? ignoreNotFound(this.#api.get<PersistentVolume>({ resource: persistentVolumes, name }));
  }

  async #markLost(claim: PersistentVolumeClaim, reason: string, message: string): Promise<void> {
    if (claim.status?.phase !== 'Lost') {
      await this.#setPhase(claim, 'Lost');
      this.#recordEvent(claim, { type: 'Warning', reason, message });
    }
  }

  async #setBound(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    if (claim.status?.phase === 'Bound') {
      return;
    }
    const { accessModes = [], capacity = {}, volumeAttributesClassName } = volume.spec;
    const attributes =
      volumeAttributesClassName === undefined
        ? {}
        : { currentVolumeAttributesClassName: volumeAttributesClassName };
    const status = { phase: 'Bound', accessModes, capacity, ...attributes };
    await patchSameVersion(this.#api, persistentVolumeClaims, claim, { status }, 'status');
  }

  async #setPhase(claim: PersistentVolumeClaim, phase: 'Pending' | 'Lost'): Promise<void> {
    if (claim.status?.phase !== phase) {
      await patchSameVersion(this.#api, persistentVolumeClaims, claim, { status: { phase } }, 'status');
    }
  }

  #recordEvent(claim: PersistentVolumeClaim, news: EventDetails | undefined): void {
    if (news !== undefined) {
      this.#recorder.record(involved('PersistentVolumeClaim', claim), news);
    }
  }
}
