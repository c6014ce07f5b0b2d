import type { Stored } from '../../../src/kubernetes/object.ts';
import { type EventRecorder, involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Pod, Volume } from '../../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims } from '../../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../controller-context.ts';
import { isTerminal, podClaims } from './pod-claims.ts';

type Context = ControllerContext<'claims' | 'pods'>;

/**
 * Creates the claims of generic ephemeral volumes, owned by their pod (kubernetes:
 * pkg/controller/volume/ephemeral).
 */
export class EphemeralClaims extends Controller {
  readonly #informers: Context['informers'];
  readonly #api: Context['api'];
  readonly #recorder: EventRecorder;

  constructor(context: Context) {
    super('ephemeral-claims', context);
    this.#informers = context.informers;
    this.#api = context.api;
    const { informers } = context;
    this.#recorder = context.recorder('ephemeral_volume');

    informers.pods.onChange(({ key, after }) => {
      if (after?.spec.volumes?.some(({ ephemeral }) => ephemeral !== undefined) === true) {
        this.queue.add(key);
      }
    });

    informers.claims.onChange(({ before, after }) => {
      const owner = (after === undefined ? before : undefined)?.metadata.ownerReferences?.find(
        ({ kind }) => kind === 'Pod',
      );
      if (owner !== undefined) {
        this.queue.add(`${before?.metadata.namespace ?? ''}/${owner.name}`);
      }
    });
  }

  protected override async reconcile(key: string): Promise<void> {
    const pod = this.#informers.pods.get(key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isTerminal(pod)) {
      return;
    }
    for (const volume of pod.spec.volumes ?? []) {
      if (volume.ephemeral !== undefined) {
        await this.#ensureClaim(pod, volume);
      }
    }
  }

  async #ensureClaim(pod: Stored<Pod>, volume: Volume): Promise<void> {
    const desired = ephemeralClaim(pod, volume);
    const { namespace, name } = desired.metadata;
    const present =
      this.#informers.claims.get(`${namespace}/${name}`) ??
      (await this.#create(desired, { namespace, name }));
    if (!isOwnedBy(present, pod)) {
      this.#recorder.record(involved('Pod', pod), {
        type: 'Warning',
        reason: 'FailedBinding',
        message: `ephemeral volume ${volume.name}: PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`,
      });
    }
  }

  async #create(
    claim: PersistentVolumeClaim,
    at: { namespace: string | undefined; name: string },
  ): Promise<PersistentVolumeClaim> {
    try {
      return await this.#api.create(persistentVolumeClaims, claim);
    } catch (error) {
      if (!isApiError(error, 409, 'AlreadyExists')) {
        throw error;
      }
      return this.#api.get({ resource: persistentVolumeClaims, ...at });
    }
  }
}

/** Returns the claim for a generic ephemeral volume of a pod. Pure. */
function ephemeralClaim(pod: Stored<Pod>, volume: Volume): PersistentVolumeClaim {
  const { name: podName, namespace, uid } = pod.metadata;
  const template = volume.ephemeral?.volumeClaimTemplate;
  const claim = podClaims({ ...pod, spec: { ...pod.spec, volumes: [volume] } })[0];
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: claim?.name ?? '',
      namespace,
      ...template?.metadata,
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Pod', name: podName, uid, controller: true, blockOwnerDeletion: true },
      ],
    },
    spec: template?.spec as PersistentVolumeClaim['spec'],
  };
}

function isOwnedBy(claim: PersistentVolumeClaim, pod: Pod): boolean {
  return claim.metadata.ownerReferences?.some(({ uid }) => uid === pod.metadata.uid) === true;
}
