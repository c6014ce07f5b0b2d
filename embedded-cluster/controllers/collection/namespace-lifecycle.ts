import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Resource } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import type { Informer } from '../runtime/informer.ts';
import { allInformers } from '../runtime/informers.ts';
import { WorkQueue } from '../runtime/work-queue.ts';

/**
 * Deletes the content of a terminating namespace, and finalizes the namespace when it is empty (kubernetes:
 * pkg/controller/namespace). Pods are deleted first and end gracefully while the objects that they use still
 * exist. Objects with finalizers remain until these are removed.
 */
export function createNamespaceLifecycle(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const queue = new WorkQueue('namespace-lifecycle', reconcile, context);
  const contents = allInformers(informers).filter(({ resource }) => resource.namespaced);

  informers.namespaces.onChange(({ key, after }) => {
    if (after?.metadata.deletionTimestamp !== undefined) {
      queue.add(key);
    }
  });
  for (const informer of contents) {
    follow(informer);
  }

  function follow(informer: Informer): void {
    informer.onChange(({ before, after }) => {
      const { namespace } = (after ?? before)?.metadata ?? {};
      if (namespace === undefined) {
        return;
      }
      if (informers.namespaces.get(namespace)?.metadata.deletionTimestamp !== undefined) {
        queue.add(namespace);
      }
    });
  }

  async function reconcile(name: string): Promise<void> {
    if (informers.namespaces.get(name)?.metadata.deletionTimestamp === undefined) {
      return;
    }
    if (!(await empty(pods, name))) return;
    let isEmpty = true;
    for (const { resource } of contents) {
      if (resource !== pods && !(await empty(resource, name))) isEmpty = false;
    }
    if (isEmpty) await api.finalizeNamespace(name);
  }

  /** Deletes the objects of a resource. Returns false if some remain; their end adds the namespace again. */
  async function empty(resource: Resource, namespace: string): Promise<boolean> {
    const { items } = await api.list(resource, { namespace });
    for (const object of items) {
      if (object.metadata.deletionTimestamp === undefined) {
        await remove(resource, object);
      }
    }
    return items.length === 0 || (await api.list(resource, { namespace })).items.length === 0;
  }

  async function remove(resource: Resource, object: KubernetesObject): Promise<void> {
    const { namespace, name = '', uid = '' } = object.metadata;
    try {
      await api.delete({ resource, namespace, name }, { preconditions: { uid } });
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) {
        throw error;
      }
    }
  }

  return queue;
}
