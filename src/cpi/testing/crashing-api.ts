import type { KubernetesApi } from '../../kubernetes/api.ts';

export class Crash extends Error {}

/**
 * Returns the API of a process that is killed `before` or `after` its n-th write reaches the server. From
 * then on every request fails, as for a dead process.
 */
export function crashingApi(api: KubernetesApi, write: number, moment: 'before' | 'after'): KubernetesApi {
  let left = write;
  let isDead = false;
  const alive = (): void => {
    if (isDead) throw new Crash('killed');
  };
  const read = async <T>(action: () => Promise<T>): Promise<T> => {
    alive();
    return action();
  };
  const change = async <T>(action: () => Promise<T>): Promise<T> => {
    alive();
    left -= 1;
    if (left > 0) return action();
    isDead = true;
    if (moment === 'after') await action();
    throw new Crash('killed');
  };
  return {
    get: (reference) => read(() => api.get(reference)),
    list: (resource, query) => read(() => api.list(resource, query)),
    create: (resource, object) => change(() => api.create(resource, object)),
    dryRunCreate: (resource, object) => read(() => api.dryRunCreate(resource, object)),
    replace: (resource, object, subresource) => change(() => api.replace(resource, object, subresource)),
    patch: (reference, patch, options) => change(() => api.patch(reference, patch, options)),
    delete: (reference, options) => change(() => api.delete(reference, options)),
    groups: () => read(() => api.groups()),
    watch: (resource, query) => {
      alive();
      return api.watch(resource, query);
    },
  };
}
