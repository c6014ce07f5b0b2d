import type { KubernetesApi, Resource } from '../api.ts';
import { ApiError } from '../client/api-error.ts';

/** Returns the API with these verbs instead of its own. */
export const apiWith = <T extends Partial<KubernetesApi>>(api: T, verbs: Partial<T>): T =>
  new Proxy(api, {
    get(target, key) {
      if (key in verbs) return Reflect.get(verbs, key) as unknown;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

/** Returns the error with which the authorizer refuses a request. */
export const forbidden = (verb: string, { plural, group }: Resource): ApiError =>
  new ApiError({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 403, reason: 'Forbidden' },
    message: `${plural} is forbidden: User "limited" cannot ${verb} resource "${plural}" in API group "${group}"`,
  });
