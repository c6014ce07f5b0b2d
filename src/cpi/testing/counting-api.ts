import type { KubernetesApi, ObjectReference, Resource } from '../../kubernetes/api.ts';

/** The requests that reached the API, each as `create pods` or `patch persistentvolumeclaims`. */
export interface Requests {
  readonly reads: string[];
  readonly writes: string[];
}

/** Returns the API with a record of each request that reaches it. */
export function countingApi(api: KubernetesApi): {
  readonly api: KubernetesApi;
  readonly requests: Requests;
} {
  const requests: Requests = { reads: [], writes: [] };
  const note = (kind: keyof Requests, verb: string, { plural }: Resource): void => {
    requests[kind].push(`${verb} ${plural}`);
  };
  const of = (reference: ObjectReference): Resource => reference.resource;
  return {
    requests,
    api: {
      get: (reference) => {
        note('reads', 'get', of(reference));
        return api.get(reference);
      },
      list: (resource, query) => {
        note('reads', 'list', resource);
        return api.list(resource, query);
      },
      watch: (resource, query) => {
        note('reads', 'watch', resource);
        return api.watch(resource, query);
      },
      groups: () => {
        requests.reads.push('get groups');
        return api.groups();
      },
      create: (resource, object) => {
        note('writes', 'create', resource);
        return api.create(resource, object);
      },
      dryRunCreate: (resource, object) => {
        note('reads', 'try to create', resource);
        return api.dryRunCreate(resource, object);
      },
      replace: (resource, object, ...more) => {
        note('writes', 'replace', resource);
        return api.replace(resource, object, ...more);
      },
      patch: (reference, patch, ...more) => {
        note('writes', 'patch', of(reference));
        return api.patch(reference, patch, ...more);
      },
      delete: (reference, ...more) => {
        note('writes', 'delete', of(reference));
        return api.delete(reference, ...more);
      },
    },
  };
}
