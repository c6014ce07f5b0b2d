import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Pod, Volume } from '../../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims } from '../../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { isTerminal, podClaims } from './pod-claims.ts';

/**
 * Creates the claims of generic ephemeral volumes, owned by their pod (kubernetes:
 * pkg/controller/volume/ephemeral).
 */
export function createEphemeralClaims(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const recorder = context.recorder('ephemeral_volume');
  const queue = new WorkQueue('ephemeral-claims', reconcile, context);

  informers.pods.onChange(({ key, after }) => {
    if (after?.spec.volumes?.some(({ ephemeral }) => ephemeral !== undefined) === true) {
      queue.add(key);
    }
  });
  informers.claims.onChange(({ before, after }) => {
    const owner = (after === undefined ? before : undefined)?.metadata.ownerReferences?.find(
      ({ kind }) => kind === 'Pod',
    );
    if (owner !== undefined) {
      queue.add(`${before?.metadata.namespace ?? ''}/${owner.name}`);
    }
  });

  async function reconcile(key: string): Promise<void> {
    const pod = informers.pods.get(key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isTerminal(pod)) {
      return;
    }
    for (const volume of pod.spec.volumes ?? []) {
      if (volume.ephemeral !== undefined) {
        await ensureClaim(pod, volume);
      }
    }
  }

  async function ensureClaim(pod: Pod, volume: Volume): Promise<void> {
    const wanted = ephemeralClaim(pod, volume);
    const { namespace, name = '' } = wanted.metadata;
    const present =
      informers.claims.get(`${namespace ?? ''}/${name}`) ?? (await create(wanted, { namespace, name }));
    if (!isOwnedBy(present, pod)) {
      recorder.record(
        { kind: 'Pod', apiVersion: 'v1', object: pod },
        {
          type: 'Warning',
          reason: 'FailedBinding',
          message: `ephemeral volume ${volume.name}: PVC ${namespace ?? ''}/${name} was not created for pod ${namespace ?? ''}/${pod.metadata.name ?? ''} (pod is not owner)`,
        },
      );
    }
  }

  async function create(
    claim: PersistentVolumeClaim,
    at: { namespace: string | undefined; name: string },
  ): Promise<PersistentVolumeClaim> {
    try {
      return await api.create(persistentVolumeClaims, claim);
    } catch (error) {
      if (!isApiError(error, 409, 'AlreadyExists')) {
        throw error;
      }
      return api.get({ resource: persistentVolumeClaims, ...at });
    }
  }

  return queue;
}

/** Returns the claim for a generic ephemeral volume of a pod. Pure. */
function ephemeralClaim(pod: Pod, volume: Volume): PersistentVolumeClaim {
  const { name: podName = '', namespace, uid = '' } = pod.metadata;
  const template = volume.ephemeral?.volumeClaimTemplate;
  const claim = podClaims({ ...pod, spec: { ...pod.spec, volumes: [volume] } })[0];
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: claim?.name ?? '',
      ...(namespace !== undefined && { namespace }),
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
