import type { Resource } from '../../kubernetes/api.ts';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { RestApi } from '../../kubernetes/client/rest-api.ts';
import { withKubernetes } from '../cluster/kubeconfig.ts';

/** Connects to the cluster of the kubeconfig by an API that has these verbs instead of its own. */
export const connectWith =
  (verbsOf: (api: RestApi) => Partial<RestApi>): typeof withKubernetes =>
  (kubeconfig, action, options) =>
    withKubernetes(
      kubeconfig,
      (api, access) => {
        const verbs = verbsOf(api);
        const changed = new Proxy(api, {
          get(target, key) {
            if (key in verbs) return Reflect.get(verbs, key) as unknown;
            const value: unknown = Reflect.get(target, key);
            return typeof value === 'function' ? (value.bind(target) as unknown) : value;
          },
        });
        return action(changed, access);
      },
      options,
    );

/** Returns the error with which the authorizer refuses a request. */
export const forbidden = (verb: string, { plural, group }: Resource): ApiError =>
  new ApiError({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 403, reason: 'Forbidden' },
    message: `${plural} is forbidden: User "limited" cannot ${verb} resource "${plural}" in API group "${group}"`,
  });
