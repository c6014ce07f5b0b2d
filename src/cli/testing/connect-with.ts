import type { RestApi } from '../../kubernetes/client/rest-api.ts';
import { apiWith } from '../../kubernetes/testing/api-with.ts';
import { withKubernetes } from '../cluster/kubeconfig.ts';

/** Connects to the cluster of the kubeconfig by an API that has these verbs instead of its own. */
export const connectWith =
  (verbsOf: (api: RestApi) => Partial<RestApi>): typeof withKubernetes =>
  (kubeconfig, action, options) =>
    withKubernetes(kubeconfig, (api, access) => action(apiWith(api, verbsOf(api)), access), options);
