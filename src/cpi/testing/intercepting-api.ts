import type { KubernetesApi } from '../../kubernetes/api.ts';

/**
 * Called before each request, with a text such as `delete persistentvolumeclaims disk-1`; may do something
 * first, or reject.
 */
export type Intercept = (request: string) => Promise<void>;

/** Returns the API of one process while other writers act at moments that a test chooses. */
export function interceptingApi(api: KubernetesApi, intercept: Intercept): KubernetesApi {
  return {
    get: async (reference) => {
      await intercept(`get ${reference.resource.plural} ${reference.name}`);
      return api.get(reference);
    },
    list: (resource, query) => api.list(resource, query),
    watch: (resource, query) => api.watch(resource, query),
    groups: () => api.groups(),
    create: async (resource, object) => {
      await intercept(`create ${resource.plural} ${object.metadata.name}`);
      return api.create(resource, object);
    },
    dryRunCreate: async (resource, object) => {
      await intercept(`create ${resource.plural} ${object.metadata.name}`);
      return api.dryRunCreate(resource, object);
    },
    replace: async (resource, object, ...more) => {
      await intercept(`replace ${resource.plural} ${object.metadata.name}`);
      return api.replace(resource, object, ...more);
    },
    patch: async (reference, patch, ...more) => {
      await intercept(`patch ${reference.resource.plural} ${reference.name}`);
      return api.patch(reference, patch, ...more);
    },
    delete: async (reference, ...more) => {
      await intercept(`delete ${reference.resource.plural} ${reference.name}`);
      return api.delete(reference, ...more);
    },
  };
}

/** Runs an action before the `count`-th request of that kind, once. */
export function atRequest(request: string, action: () => Promise<void>, count = 1): Intercept {
  let left = count;
  return async (now) => {
    if (now !== request) return;
    left -= 1;
    if (left === 0) await action();
  };
}
