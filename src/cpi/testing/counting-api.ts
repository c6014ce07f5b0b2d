import type { KubernetesApi } from '../../kubernetes/api.ts';
import { observedApi } from '../record/observed-api.ts';

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
  const end = { see: () => undefined, end: () => undefined };
  return {
    requests,
    api: observedApi(api, ({ kind, verb, resource }) => {
      requests[kind === 'write' ? 'writes' : 'reads'].push(`${verb} ${resource?.plural ?? 'groups'}`);
      return end;
    }),
  };
}
