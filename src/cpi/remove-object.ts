import { isApiError } from '../kubernetes/api-error.ts';
import type { ObjectReference } from '../kubernetes/api.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { waitFor } from '../kubernetes/wait.ts';
import type { CallContext } from './cloud.ts';
import { describePendingDeletion } from './last-words.ts';
import { whileNodeAnswers } from './node/look-at-node.ts';
import { lostNodeError } from './node/lost-node-error.ts';
import type { LostNode } from './node/node-state.ts';

/**
 * Requests the deletion of the object with this uid. A missing object, or a new one of the same name, counts
 * as success.
 */
export async function requestDeletion(
  cloud: CallContext,
  reference: ObjectReference,
  uid: string,
): Promise<void> {
  try {
    await cloud.api.delete(reference, { preconditions: { uid }, propagationPolicy: 'Background' });
  } catch (error) {
    if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
  }
}

export interface DeletionWaitOptions {
  readonly reference: ObjectReference;
  readonly uid: string;
  readonly deadlineSeconds: number;
  /** Names the object in the DEADLINE error: `VM 'vm-1'`. */
  readonly what: string;
  /** The node of a pod. While the node does not answer, the pod is not deleted by itself. */
  readonly nodeName?: string | undefined;
  /** Called if that node is lost. Default: reject with NODE_LOST. */
  readonly whenLost?: (lost: LostNode) => Promise<void>;
}

/**
 * Waits until the object with this uid is deleted; a new one of the same name does not count. Rejects with
 * DEADLINE, or with NODE_LOST once the node of the pod counts as lost.
 */
export async function waitForDeletion(cloud: CallContext, options: DeletionWaitOptions): Promise<void> {
  const { nodeName, what } = options;
  if (nodeName === undefined) return waitForNotFound(cloud, options);
  const refuse = (lost: LostNode): Promise<void> =>
    Promise.reject(lostNodeError(`${what} is not gone`, lost, { stakes: [], isDeleting: true }));
  return whileNodeAnswers(cloud, {
    nodeName,
    work: (signal) => waitForNotFound(cloud, options, signal),
    whenLost: options.whenLost ?? refuse,
  });
}

async function waitForNotFound(
  cloud: CallContext,
  options: DeletionWaitOptions,
  signal?: AbortSignal,
): Promise<void> {
  const { reference, uid } = options;
  await waitFor<KubernetesObject, true>({
    ...(signal !== undefined && { signal }),
    api: cloud.api,
    clock: cloud.clock,
    reference,
    condition: (object) => (object === undefined || object.metadata.uid !== uid ? true : undefined),
    awaited: `${options.what} to be gone`,
    deadlineMs: options.deadlineSeconds * 1000,
    lastWords: (last) => describePendingDeletion(cloud, reference, last),
    onProgress: cloud.reportProgress,
  });
}
