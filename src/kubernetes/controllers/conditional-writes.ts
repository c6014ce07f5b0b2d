import { type KubernetesApi, type Resource, type DeleteOptions, ignoreNotFound } from '../api.ts';
import type { KubernetesObject, Stored } from '../object.ts';

/** Returns true if the object is being deleted and waits for this finalizer. */
export function isBlockedBy(object: KubernetesObject, finalizer: string): boolean {
  return object.metadata.deletionTimestamp !== undefined && hasFinalizer(object, finalizer);
}

export function hasFinalizer(object: KubernetesObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) === true;
}

/** Removes a finalizer from an object, if the object has not changed (409 otherwise). */
export async function removeFinalizer(
  api: KubernetesApi,
  resource: Resource,
  object: KubernetesObject,
  finalizer: string,
): Promise<void> {
  const finalizers = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
  await patchSameVersion(api, resource, object, { metadata: { finalizers } });
}

/** Adds a finalizer to an object that is not being deleted. */
export async function addFinalizer(
  api: KubernetesApi,
  resource: Resource,
  object: KubernetesObject,
  finalizer: string,
): Promise<void> {
  const finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  await patchSameVersion(api, resource, object, { metadata: { finalizers } });
}

/**
 * Applies a merge patch on the condition that uid and resourceVersion are unchanged. Returns undefined if the
 * object does not exist.
 */
export async function patchSameVersion<T extends KubernetesObject>(
  api: KubernetesApi,
  resource: Resource,
  object: T,
  patch: { readonly metadata?: object; readonly [field: string]: unknown },
  subresource?: 'status',
): Promise<T | undefined> {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  return ignoreNotFound(
    api.patch<T>(
      { resource, namespace, name },
      { ...patch, metadata: { ...patch.metadata, uid, resourceVersion } },
      subresource === undefined ? {} : { subresource },
    ),
  );
}

/** Deletes an object on the condition that its uid is the same. Does nothing if no object has its name. */
export async function deleteSame(
  api: KubernetesApi,
  resource: Resource,
  { metadata: { namespace, name, uid } }: Stored<KubernetesObject>,
  options: Pick<DeleteOptions, 'gracePeriodSeconds'> = {},
): Promise<void> {
  await ignoreNotFound(api.delete({ resource, namespace, name }, { ...options, preconditions: { uid } }));
}

/** Like `deleteSame`, on the condition that also the resourceVersion is the same. */
export async function deleteSameVersion(
  api: KubernetesApi,
  resource: Resource,
  { metadata: { namespace, name, uid, resourceVersion } }: Stored<KubernetesObject>,
): Promise<void> {
  await ignoreNotFound(
    api.delete({ resource, namespace, name }, { preconditions: { uid, resourceVersion } }),
  );
}
