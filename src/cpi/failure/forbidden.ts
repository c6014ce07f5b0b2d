import type { ApiError } from '../../kubernetes/api-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { Explanation } from './explain-api-error.ts';
import { outOfRange, unspecified } from './resource-policy.ts';

/** Who says no with 403, by the words of Kubernetes' own plugins. */
const refusals: readonly [RegExp, (groups: readonly string[], error: ApiError) => Explanation][] = [
  // plugin/pkg/admission/resourcequota
  [
    /exceeded quota: ([^,]+)/u,
    ([quota = ''], { status }) => ({
      code: status.details?.kind === 'persistentvolumeclaims' ? 'NO_DISK_SPACE' : 'QUOTA_EXCEEDED',
      next: `raise ResourceQuota ${quota} or remove what is not needed`,
    }),
  ],
  [/failed quota: .*?: must specify (.+)/u, ([missing = '']) => unspecified(missing)],
  // plugin/pkg/admission/security/podsecurity
  [
    /violates PodSecurity "([^":]+)/u,
    ([level = '']) => ({
      code: 'KUBERNETES_FORBIDDEN',
      next: `the namespace admits pods of the level ${level} only: use another namespace or a lower profile`,
    }),
  ],
  // apiserver: pkg/endpoints/handlers/responsewriters/errors.go
  [
    /cannot (\w+) resource "([^"]+)"(?: in API group "([^"]*)")?(?:.* in the namespace "([^"]+)")?/u,
    ([verb = '', resource = '', group = '', namespace]) => ({
      code: 'KUBERNETES_FORBIDDEN',
      next:
        `the role of the CPI lacks the verb "${verb}" on "${resource}" (apiGroup "${group}")` +
        (namespace === undefined ? ', in a ClusterRole' : ` in namespace ${namespace}`) +
        ': add it (manifests/rbac)',
    }),
  ],
  // plugin/pkg/admission: priority, serviceaccount, runtimeclass
  [/no PriorityClass with name (\S+)/u, ([name = '']) => absent(`PriorityClass ${name}`, 'priority_class')],
  [
    /error looking up service account \S+: serviceaccounts? "([^"]+)" not found/u,
    ([name = '']) => absent(`ServiceAccount ${name}`, 'service_account'),
  ],
  [/RuntimeClass "([^"]+)" not found/u, ([name = '']) => absent(`RuntimeClass ${name}`, 'runtime_class')],
  // plugin/pkg/admission/namespace/lifecycle
  [
    /because it is being terminated/u,
    () => ({
      code: 'KUBERNETES_FORBIDDEN',
      next: 'wait until the namespace is gone and make it again, or use another',
    }),
  ],
  // apiserver: pkg/admission/plugin/webhook
  [
    /admission webhook "([^"]+)" denied/u,
    ([name = '']) => ({
      code: 'KUBERNETES_FORBIDDEN',
      next: `the policy behind webhook ${name} has to admit it`,
    }),
  ],
  // apiserver: pkg/admission/plugin/policy/validating
  [
    /ValidatingAdmissionPolicy '([^']+)' .*denied/u,
    ([name = '']) => ({
      code: 'KUBERNETES_FORBIDDEN',
      next: `ValidatingAdmissionPolicy ${name} has to admit it`,
    }),
  ],
  // plugin/pkg/admission/limitranger
  [/(?:maximum|minimum) \S+ usage per|max limit to request ratio per/u, (_, error) => outOfRange(error)],
];

/** What no policy says: a role, a quota, a namespace that goes. */
const notOfAdmission = /cannot \w+ resource "|exceeded quota: |because it is being terminated/u;
const denied = /admission webhook "[^"]+" denied|ValidatingAdmissionPolicy '[^']+' .*denied/u;

/**
 * True where an admission plugin or a policy of the cluster refuses the object as it is: another role, more quota and another
 * try change nothing. A webhook may say so with any code, and a ValidatingAdmissionPolicy says 422 unless it names another
 * reason (apiserver: plugin/policy/validating/dispatcher.go). Pure.
 */
export function isNotAdmitted(error: unknown): error is ApiError {
  if (!isApiError(error)) return false;
  return denied.test(error.message) || (error.code === 403 && !notOfAdmission.test(error.message));
}

/** What a 403 means, or a 422 by which a policy refuses. */
export function refusal(error: ApiError): Explanation {
  for (const [pattern, explain] of refusals) {
    const found = pattern.exec(error.message);
    if (found !== null) return explain(found.slice(1), error);
  }
  return {
    code: 'KUBERNETES_FORBIDDEN',
    next: 'a role, an admission plugin or a policy of the cluster has to admit it',
  };
}

function absent(what: string, property: string): Explanation {
  return { code: 'KUBERNETES_FORBIDDEN', next: `create ${what} or correct ${property} in cloud_properties` };
}
