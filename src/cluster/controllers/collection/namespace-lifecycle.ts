import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Resource } from '../../../kubernetes/api.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import { namespaces, pods } from '../../../kubernetes/resources.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import type { Informer } from '../runtime/informer.ts';
import { allInformers } from '../runtime/informers.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { namespaceConditions, type NamespaceCondition, type Remaining } from './namespace-conditions.ts';

interface Namespace extends KubernetesObject {
  readonly status?: {
    readonly conditions?: readonly (NamespaceCondition & { readonly lastTransitionTime: string })[];
  };
}

/**
 * Empties a namespace that is being deleted and lets it go when nothing is left in it
 * (kubernetes: pkg/controller/namespace). Pods go first and end gracefully, with what they use still there; whatever has
 * finalizers waits for them. The namespace's conditions say what is left.
 */
export function createNamespaceLifecycle(context: ControllerContext): WorkQueue {
  const { api, clock, informers } = context;
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
    const namespace = informers.namespaces.get(name);
    if (namespace?.metadata.deletionTimestamp === undefined) {
      return;
    }
    const remaining: Remaining[] = [await empty(pods, name)];
    if (remaining[0]?.objects.length === 0) {
      for (const { resource } of contents) {
        if (resource !== pods) remaining.push(await empty(resource, name));
      }
    }
    if (remaining.every(({ objects }) => objects.length === 0)) {
      await api.finalizeNamespace(name);
    } else {
      await tell(namespace, namespaceConditions(remaining));
    }
  }

  async function tell(namespace: KubernetesObject, wanted: readonly NamespaceCondition[]): Promise<void> {
    const { conditions = [] } = (namespace as Namespace).status ?? {};
    const isTold = wanted.every((want) =>
      conditions.some(
        ({ type, status, message }) =>
          type === want.type && status === want.status && message === want.message,
      ),
    );
    if (isTold) return;
    const { name = '', uid } = namespace.metadata;
    const lastTransitionTime = new Date(clock.now()).toISOString();
    const told = wanted.map((want) => {
      const same = conditions.find(({ type, status }) => type === want.type && status === want.status);
      return { ...want, lastTransitionTime: same?.lastTransitionTime ?? lastTransitionTime };
    });
    try {
      const changes = { metadata: { uid }, status: { conditions: told } };
      await api.patch({ resource: namespaces, name }, changes, { subresource: 'status' });
    } catch (error) {
      // another one of that name is not ours to tell of
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }

  /** Deletes what is there; what has not gone at once brings the namespace back here with its end. */
  async function empty(resource: Resource, namespace: string): Promise<Remaining> {
    const { items } = await api.list(resource, { namespace });
    for (const object of items) {
      if (object.metadata.deletionTimestamp === undefined) {
        await remove(resource, object);
      }
    }
    const objects = items.length === 0 ? [] : (await api.list(resource, { namespace })).items;
    return { resource: `${resource.plural}.${resource.group}`, objects };
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
