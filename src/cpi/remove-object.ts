import { isApiError } from '../kubernetes/api-error.ts';
import type { ObjectReference } from '../kubernetes/api.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { waitFor } from '../kubernetes/wait.ts';
import type { CallContext } from './cloud.ts';
import { describePendingDeletion } from './last-words.ts';
import { whileNodeAnswers } from './node/look-at-node.ts';
import { lostNodeError } from './node/lost-node-error.ts';
import type { LostNode } from './node/node-state.ts';

/** Asks for the deletion of exactly that object. One that is gone, or was made anew, is success. */
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
  /** For the DEADLINE error: `VM 'vm-1'`. */
  readonly what: string;
  /** The node of a pod. A pod does not go by itself while its node does not answer. */
  readonly nodeName?: string | undefined;
  /** What to do where that node is lost; absent: reject with NODE_LOST. */
  readonly whenLost?: (lost: LostNode) => Promise<void>;
}

/**
 * Waits until that object is gone; one of the same name with another uid is not it. Rejects with DEADLINE, and with
 * NODE_LOST as soon as it is clear that its node does not end it.
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
