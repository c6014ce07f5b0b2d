import type { Stored } from '../../../src/kubernetes/object.ts';
import { type EventRecorder, involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import {
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAnnotations,
  cloningFinalizer,
} from '../../../src/kubernetes/types/storage.ts';
import type { VolumeSource } from '../../node/volume-provisioner.ts';
import type { ControllerContext } from '../controller-context.ts';
import {
  patchSameVersion,
  addFinalizer,
  hasFinalizer,
} from '../../../src/kubernetes/controllers/conditional-writes.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { localVolume, volumeNameOf } from './local-volume.ts';
import { keyOf } from '../../../src/kubernetes/controllers/informer.ts';
import { decideBinding } from './binding-decision.ts';
import { resolveDataSource, type DataSource } from './data-source.ts';

type CreatorContext = ControllerContext<'attributesClasses' | 'nodes'>;

export interface ProvisionRequest {
  readonly claim: Stored<PersistentVolumeClaim>;
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
export class VolumeCreator {
  readonly #api: CreatorContext['api'];
  readonly #informers: CreatorContext['informers'];
  readonly #provisioner: CreatorContext['provisioner'];
  readonly #recorder: EventRecorder;

  constructor({ api, informers, provisioner, recorder }: CreatorContext) {
    this.#api = api;
    this.#informers = informers;
    this.#provisioner = provisioner;
    this.#recorder = recorder(localProvisioner);
  }

  async provision({ claim, storageClass, nodeName, source }: ProvisionRequest): Promise<void> {
    const node =
      nodeName === undefined ? this.#informers.nodes.list()[0] : this.#informers.nodes.get(nodeName);
    const missing =
      node === undefined
        ? `node ${nodeName ?? ''} for the volume does not exist`
        : this.#missingClass(claim.spec.volumeAttributesClassName);
    if (node === undefined || missing !== undefined) {
      if (claim.status?.phase !== 'Pending') {
        await patchSameVersion(
          this.#api,
          persistentVolumeClaims,
          claim,
          { status: { phase: 'Pending' } },
          'status',
        );
      }
      this.#recordEvent(claim, 'ProvisioningFailed', missing ?? '');
      return;
    }
    if (claim.metadata.annotations?.[volumeAnnotations.storageProvisioner] !== localProvisioner) {
      const annotations = { [volumeAnnotations.storageProvisioner]: localProvisioner };
      await patchSameVersion(this.#api, persistentVolumeClaims, claim, { metadata: { annotations } });
      return;
    }
    const path = await this.#makeDirectory(claim, source);
    try {
      await this.#api.create(persistentVolumes, localVolume({ claim, storageClass, node, path }));
    } catch (error) {
      // The name contains the claim's uid, so an existing volume is from an earlier try.
      if (!isApiError(error, 409, 'AlreadyExists')) {
        throw error;
      }
    }
    this.#recordEvent(
      claim,
      'ProvisioningSucceeded',
      `Successfully provisioned volume ${volumeNameOf(claim)}`,
    );
  }

  #missingClass(name: string | undefined): string | undefined {
    return name === undefined || this.#informers.attributesClasses.get(name) !== undefined
      ? undefined
      : `volumeattributesclass.storage.k8s.io "${name}" not found`;
  }

  async #makeDirectory(
    claim: Stored<PersistentVolumeClaim>,
    source: VolumeSource | undefined,
  ): Promise<string> {
    const { volumeAttributesClassName = '', storageClassName = '' } = claim.spec;
    const name = volumeNameOf(claim);
    try {
      const path = await this.#provisioner.provision(name, source);
      const parameters = this.#informers.attributesClasses.get(volumeAttributesClassName)?.parameters;
      if (parameters !== undefined) {
        await this.#provisioner.modify(name, parameters);
      }
      return path;
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      const message = `failed to provision volume with StorageClass "${storageClassName}": ${cause}`;
      this.#recordEvent(claim, 'ProvisioningFailed', message);
      throw error;
    }
  }

  #recordEvent(claim: PersistentVolumeClaim, reason: string, message: string): void {
    const type = reason === 'ProvisioningSucceeded' ? 'Normal' : 'Warning';
    this.#recorder.record(involved('PersistentVolumeClaim', claim), { type, reason, message });
  }
}

type Context = ControllerContext<
  'attributesClasses' | 'claims' | 'classes' | 'nodes' | 'snapshotContents' | 'snapshots' | 'volumes'
>;

/**
 * Creates volumes of class `local` for claims with a data source (kubernetes-csi/external-provisioner). It
 * has its own queue, because copies take long. A finalizer keeps a claim that is cloned until its clones are
 * bound.
 */
export class SourceProvisioner extends Controller {
  readonly #informers: Context['informers'];
  readonly #api: Context['api'];
  readonly #recorder: EventRecorder;
  readonly #volumes: VolumeCreator;

  constructor(context: Context) {
    super('source-provisioner', context);
    this.#informers = context.informers;
    this.#api = context.api;
    const { informers } = context;
    this.#recorder = context.recorder(localProvisioner);
    this.#volumes = new VolumeCreator(context);

    for (const informer of [
      informers.claims,
      informers.classes,
      informers.attributesClasses,
      informers.snapshots,
    ]) {
      informer.onChange(() => {
        for (const claim of informers.claims.list().filter(isPending)) {
          this.queue.add(keyOf(claim));
        }
      });
    }
  }

  protected override async reconcile(key: string): Promise<void> {
    const claim = this.#informers.claims.get(key);
    if (claim === undefined || !isPending(claim)) {
      return;
    }
    const decision = decideBinding({
      claim,
      volumes: this.#informers.volumes.list(),
      storageClass: this.#informers.classes.get(claim.spec.storageClassName ?? ''),
    });
    if (decision.kind !== 'provision') {
      return;
    }
    const answer = this.#findSource(claim);
    if ('refusal' in answer) {
      this.#recorder.record(involved('PersistentVolumeClaim', claim), {
        type: 'Warning',
        reason: 'ProvisioningFailed',
        message: answer.refusal,
      });
      return;
    }
    if (answer.protect !== undefined && !hasFinalizer(answer.protect, cloningFinalizer)) {
      await addFinalizer(this.#api, persistentVolumeClaims, answer.protect, cloningFinalizer);
      // The change of the source adds this claim to the queue again.
      return;
    }
    await this.#volumes.provision({ ...decision, claim, source: answer.source });
  }

  #findSource(claim: PersistentVolumeClaim): DataSource {
    return resolveDataSource(claim, {
      claim: (key) => this.#informers.claims.get(key),
      volume: (name) => this.#informers.volumes.get(name),
      snapshot: (key) => this.#informers.snapshots.get(key),
      content: (name) => this.#informers.snapshotContents.get(name),
    });
  }
}

/** Returns true for a claim with a source that is not bound yet. */
function isPending({ metadata, spec }: PersistentVolumeClaim): boolean {
  return (
    spec.dataSourceRef !== undefined &&
    metadata.deletionTimestamp === undefined &&
    metadata.annotations?.[volumeAnnotations.bindCompleted] === undefined
  );
}
