import { isApiError } from '../kubernetes/api-error.ts';
import type { KubernetesApi, Resource } from '../kubernetes/api.ts';
import { ignoreNotFound } from '../kubernetes/if-there.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { isAdmissionRejection } from './failure/forbidden.ts';

export interface CreateOrGetResult<T extends KubernetesObject> {
  readonly object: T;
  /** False: an object of that name existed. The caller must check its owner and its spec. */
  readonly isNew: boolean;
}

/**
 * Creates the object, or returns the existing one of that name. Undefined if it existed during the create and
 * was deleted before the read; try again then. The API server checks for existence last: allocation,
 * validation and admission come first (apiserver pkg/registry/generic/registry/store.go create). So a full
 * quota, a policy that was added later, or an address that this very object has may refuse a create whose
 * object exists. After such a refusal the function looks the object up, and rejects with the refusal if it
 * does not exist.
 */
export async function createOrGet<T extends KubernetesObject>(
  api: KubernetesApi,
  resource: Resource,
  wanted: T,
): Promise<CreateOrGetResult<T> | undefined> {
  try {
    return { object: await api.create<T>(resource, wanted), isNew: true };
  } catch (error) {
    const alreadyExists = isApiError(error, 409, 'AlreadyExists');
    if (!alreadyExists && !isAdmissionOrQuotaError(error)) throw error;
    const { name = '', namespace } = wanted.metadata;
    const found = await ignoreNotFound(api.get<T>({ resource, namespace, name }));
    if (found !== undefined) return { object: found, isNew: false };
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
  const { withLimitRange } = await import('./failure/limit-range.ts');
  return withLimitRange(api, namespace, error);
}

const isAdmissionOrQuotaError = (error: unknown): boolean =>
  isApiError(error, 403) || isApiError(error, 422) || isAdmissionRejection(error);
