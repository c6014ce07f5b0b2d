import { isApiError } from '../kubernetes/api-error.ts';
import type { KubernetesApi, Resource } from '../kubernetes/api.ts';
import { ignoreNotFound } from '../kubernetes/if-there.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { isAdmissionRejection } from './failure/forbidden.ts';

export interface CreateOrGetResult<T extends KubernetesObject> {
  readonly object: T;
  /** False: one of its name was there already. Whose it is, and what it is like, the caller has to see. */
  readonly isNew: boolean;
}

/**
 * Makes an object, or finds the one of its name; undefined where that was in the way and is gone by now. That
 * something is there a server sees last: allocation, validation and admission come first (apiserver
 * pkg/registry/generic/registry/store.go create), and a full quota, a policy of later or an address that this
 * very object has are their words about it. So a refusal asks, too; rejects with it where nothing of that
 * name is there.
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

/** With the name of the LimitRange that caused it, if one did; loaded here because no other call needs it. */
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
