import { isApiError } from '../../kubernetes/client/api-error.ts';
import {
  type KubernetesApi,
  type Resource,
  ignoreConflict,
  ignoreNotFound,
  type ObjectReference,
} from '../../kubernetes/api.ts';
import type { KubernetesObject, Stored } from '../../kubernetes/object.ts';
import { isAdmissionRejection } from '../errors/explain-forbidden.ts';
import { waitForObject } from './wait-for-object.ts';
import type { CallContext } from '../call.ts';
import { describePendingDeletion } from './describe-pending.ts';
import { whileNodeAnswers, lostNodeError, type LostNode } from './node-state.ts';
import type { ErrorCode } from '../../errors/error-table.ts';
import { ProductError } from '../../errors/product-error.ts';

export interface CreateOrGetResult<T extends KubernetesObject> {
  readonly object: Stored<T>;
  /** False: an object of that name existed. The caller must check its owner and its spec. */
  readonly isNew: boolean;
}

/**
 * Creates the object, or returns the existing one of that name. Undefined if it existed during the create and
 * was deleted before the read; try again then. The API server checks for existence last: allocation,
 * validation and admission come first (apiserver pkg/registry/generic/registry/store.go create). So a full
 * quota, a policy that was added later, or an address that this very object has may refuse a create whose
 * object exists. After such a refusal the function reads the object, and rejects with the refusal if it does
 * not exist.
 */
export async function createOrGet<T extends KubernetesObject>(
  api: KubernetesApi,
  resource: Resource,
  desired: T,
): Promise<CreateOrGetResult<T> | undefined> {
  try {
    return { object: await api.create<T>(resource, desired), isNew: true };
  } catch (error) {
    const alreadyExists = isApiError(error, 409, 'AlreadyExists');
    if (!alreadyExists && !isAdmissionOrQuotaError(error)) throw error;
    const { name, namespace } = desired.metadata;
    const existing = await ignoreNotFound(api.get<T>({ resource, namespace, name }));
    if (existing !== undefined) return { object: existing, isNew: false };
    if (alreadyExists) return undefined;
    throw await explained(api, namespace, error);
  }
}

/**
 * Returns the error with the name of the LimitRange that caused it, if one did. The module is loaded here
 * because no other call needs it.
 */
export async function explained(
  api: KubernetesApi,
  namespace: string | undefined,
  error: unknown,
): Promise<unknown> {
  if (namespace === undefined || !isApiError(error, 422)) return error;
  const { withLimitRange } = await import('../errors/limit-range.ts');
  return withLimitRange(api, namespace, error);
}

const isAdmissionOrQuotaError = (error: unknown): boolean =>
  isApiError(error, 403) || isApiError(error, 422) || isAdmissionRejection(error);

/**
 * Requests the deletion of the object with this uid. A missing object, or a new one of the same name, counts
 * as success.
 */
export async function requestDeletion(
  call: CallContext,
  reference: ObjectReference,
  uid: string,
): Promise<void> {
  await ignoreConflict(
    call.api.delete(reference, { preconditions: { uid }, propagationPolicy: 'Background' }),
  );
}

/**
 * Requests the deletion of exactly the version of the object that was read. Returns false, without a change,
 * if the object has changed since. A missing object counts as success.
 */
export async function deleteIfUnchanged(
  call: CallContext,
  reference: ObjectReference,
  { metadata: { uid, resourceVersion } }: Stored<KubernetesObject>,
): Promise<boolean> {
  try {
    const preconditions = { uid, resourceVersion };
    await call.api.delete(reference, { preconditions, propagationPolicy: 'Background' });
    return true;
  } catch (error) {
    if (isApiError(error, 404)) return true;
    if (isApiError(error, 409)) return false;
    throw error;
  }
}

/**
 * Applies a merge patch to exactly the version of the object that was read. Returns undefined, without a
 * change, if the object has changed since, or is deleted.
 */
export async function patchIfUnchanged<T extends KubernetesObject>(
  call: CallContext,
  reference: ObjectReference,
  { metadata: { resourceVersion } }: Stored<T>,
  patch: { readonly metadata?: object; readonly [field: string]: unknown },
): Promise<Stored<T> | undefined> {
  const metadata = { ...patch.metadata, resourceVersion };
  return ignoreConflict(call.api.patch<T>(reference, { ...patch, metadata }));
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
export async function waitForDeletion(call: CallContext, options: DeletionWaitOptions): Promise<void> {
  const { nodeName, what } = options;
  if (nodeName === undefined) return waitForNotFound(call, options);
  const reject = (lost: LostNode): Promise<void> =>
    Promise.reject(lostNodeError(`${what} was not deleted`, lost, { stakes: [], isDeleting: true }));
  return whileNodeAnswers(call, {
    nodeName,
    work: (signal) => waitForNotFound(call, options, signal),
    whenLost: options.whenLost ?? reject,
  });
}

async function waitForNotFound(
  call: CallContext,
  options: DeletionWaitOptions,
  signal?: AbortSignal,
): Promise<void> {
  const { reference, uid } = options;
  await waitForObject<KubernetesObject, true>(call, {
    signal,
    reference,
    condition: (object) => (object === undefined || object.metadata.uid !== uid ? true : undefined),
    awaited: `${options.what} to be deleted`,
    deadlineMs: options.deadlineSeconds * 1000,
    describeState: (last) => describePendingDeletion(call, reference, last),
  });
}

/** Returns the error after every attempt met a write conflict. `what` names the object. */
export const conflictError = (code: ErrorCode, what: string): ProductError =>
  new ProductError(code, `other calls keep changing ${what}; run the call again`);
