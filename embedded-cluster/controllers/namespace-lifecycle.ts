import { deleteSame } from '../../src/kubernetes/controllers/conditional-writes.ts';
import { Controller } from '../../src/kubernetes/controllers/controller.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject, Stored } from '../../src/kubernetes/object.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import type { ControllerContext } from './controller-context.ts';
import type { Informer } from '../../src/kubernetes/controllers/informer.ts';
import { allInformers } from './informers.ts';

/**
 * Deletes the content of a terminating namespace, and finalizes the namespace when it is empty (kubernetes:
 * pkg/controller/namespace). Pods are deleted first and end gracefully while the objects that they use still
 * exist. Objects with finalizers remain until these are removed.
 */
export class NamespaceLifecycle extends Controller {
  readonly #informers: ControllerContext['informers'];
  readonly #api: ControllerContext['api'];
  readonly #contents: readonly Informer[];

  constructor(context: ControllerContext) {
    super('namespace-lifecycle', context);
    this.#informers = context.informers;
    this.#api = context.api;
    const { informers } = context;
    this.#contents = allInformers(informers).filter(({ resource }) => resource.namespaced);

    informers.namespaces.onChange(({ key, after }) => {
      if (after?.metadata.deletionTimestamp !== undefined) {
        this.queue.add(key);
      }
    });

    for (const informer of this.#contents) {
      this.#follow(informer);
    }
  }

  #follow(informer: Informer): void {
    informer.onChange(({ before, after }) => {
      const { namespace } = (after ?? before)?.metadata ?? {};
      if (namespace === undefined) {
        return;
      }
      if (this.#informers.namespaces.get(namespace)?.metadata.deletionTimestamp !== undefined) {
        this.queue.add(namespace);
      }
    });
  }

  protected override async reconcile(name: string): Promise<void> {
    if (this.#informers.namespaces.get(name)?.metadata.deletionTimestamp === undefined) {
      return;
    }
    if (!(await this.#deleteContents(pods, name))) return;
    let isEmpty = true;
    for (const { resource } of this.#contents) {
      if (resource !== pods && !(await this.#deleteContents(resource, name))) isEmpty = false;
    }
    if (isEmpty) await this.#api.finalizeNamespace(name);
  }

  /** Deletes the objects of a resource. Returns false if some remain; their end adds the namespace again. */
  async #deleteContents(resource: Resource, namespace: string): Promise<boolean> {
    const { items } = await this.#api.list(resource, { namespace });
    for (const object of items) {
      if (object.metadata.deletionTimestamp === undefined) {
        await this.#remove(resource, object);
      }
    }
    return items.length === 0 || (await this.#api.list(resource, { namespace })).items.length === 0;
  }

  async #remove(resource: Resource, object: Stored<KubernetesObject>): Promise<void> {
    try {
      await deleteSame(this.#api, resource, object);
    } catch (error) {
      // Another object has the name by now.
      if (!isApiError(error, 409)) throw error;
    }
  }
}
