import { ignoreNotFound, type ObjectReference } from '../../kubernetes/api.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { isMissingResource } from '../../kubernetes/client/api-error.ts';
import { describeEventsIfAllowed } from '../../kubernetes/describe-pod.ts';
import type { OwnerReference } from '../../kubernetes/object.ts';
import { volumeSnapshots } from '../../kubernetes/resources.ts';
import type { VolumeSnapshot } from '../../kubernetes/types/storage.ts';
import { waitForObject } from '../objects/wait-for-object.ts';
import type { CallContext } from '../call.ts';
import { createOrGet, requestDeletion, waitForDeletion } from '../objects/objects.ts';
import { noSnapshotApi } from '../disk/classes.ts';

export interface SnapshotSpec {
  readonly name: string;
  readonly namespace: string;
  readonly claimName: string;
  readonly className: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Kubernetes deletes the snapshot after its owners. Without owners it stays until it is deleted. */
  readonly owners?: readonly OwnerReference[];
}

/**
 * Creates a VolumeSnapshot, or uses the existing one of that name, and waits until it is ready to use. On
 * failure, deletes it. Rejects with NOT_IMPLEMENTED if the cluster has no such API.
 */
export async function takeSnapshot(call: CallContext, spec: SnapshotSpec): Promise<void> {
  await createSnapshot(call, spec);
  const { name, namespace } = spec;
  const reference = { resource: volumeSnapshots, namespace, name };
  try {
    await waitForObject<VolumeSnapshot, true>(call, {
      reference,
      condition: (snapshot) => {
        if (snapshot === undefined) throw deletedError(name);
        return snapshot.status?.readyToUse === true ? true : undefined;
      },
      awaited: `snapshot '${name}' of disk '${spec.claimName}' to be ready`,
      deadlineMs: call.config.deadlines.snapshotDisk * 1000,
      // a driver tries again, so an error in the status is not final before the deadline
      describeState: async (last) => {
        const driverError = last?.status?.error?.message;
        const reported =
          driverError ??
          (await describeEventsIfAllowed(call.api, { namespace, name, kind: 'VolumeSnapshot' }));
        return {
          state: reported === '' ? 'nothing was reported about it' : reported,
          next: `${driverHint}, then repeat the call`,
        };
      },
    });
  } catch (error) {
    throw await rolledBack(call, reference, error);
  }
}

const driverHint = 'check that the snapshot controller and the snapshotter of its driver run';

/** Deletes that snapshot and waits until it is deleted. */
export async function removeSnapshot(
  call: CallContext,
  reference: ObjectReference,
  uid: string,
): Promise<void> {
  await requestDeletion(call, reference, uid);
  const deadlineSeconds = call.config.deadlines.deleteDisk;
  await waitForDeletion(call, { reference, uid, deadlineSeconds, what: `snapshot '${reference.name}'` });
}

async function createSnapshot(call: CallContext, spec: SnapshotSpec): Promise<void> {
  const { name, namespace, claimName, className, owners, ...metadata } = spec;
  try {
    await createOrGet<VolumeSnapshot>(call.api, volumeSnapshots, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshot',
      metadata: {
        ...{ name, namespace, labels: { ...metadata.labels }, annotations: { ...metadata.annotations } },
        ...(owners !== undefined && { ownerReferences: [...owners] }),
      },
      spec: {
        source: { persistentVolumeClaimName: claimName },
        ...(className !== undefined && { volumeSnapshotClassName: className }),
      },
    });
  } catch (error) {
    if (isMissingResource(error)) throw new ProductError('NOT_IMPLEMENTED', noSnapshotApi);
    throw error;
  }
}

async function readUid(call: CallContext, reference: ObjectReference): Promise<string | undefined> {
  return (await ignoreNotFound(call.api.get(reference)))?.metadata.uid;
}

const deletedError = (name: string): ProductError =>
  new ProductError(
    'KUBERNETES_CONFLICT',
    `snapshot '${name}' was deleted during the call; run the call again`,
  );

/**
 * Rolls the snapshot back and returns the error to report; if the snapshot is not deleted, the error reports
 * that, too.
 */
async function rolledBack(call: CallContext, reference: ObjectReference, error: unknown): Promise<unknown> {
  try {
    const uid = await readUid(call, reference);
    if (uid !== undefined) await removeSnapshot(call, reference, uid);
    return error;
  } catch (second) {
    if (!isProductError(error) || !(second instanceof Error)) return error;
    return new ProductError(error.code, `${error.message}; rollback failed: ${second.message}`, {
      cause: error,
    });
  }
}
