import type { ErrorCode } from '../../errors/error-table.ts';
import { type ApiError, isApiError } from '../../kubernetes/client/api-error.ts';
import { cpiContainerRequests, mountContainer, prepareContainer, vmContainer } from '../objects/layout.ts';

export interface Explanation {
  readonly code: ErrorCode;
  /** The next step for the operator. */
  readonly next: string;
}

/** Recognizes by its message which admission plugin or authorizer of Kubernetes refused with 403. */
const forbiddenPatterns: readonly [RegExp, (groups: readonly string[], error: ApiError) => Explanation][] = [
  // plugin/pkg/admission/resourcequota
  [
    /exceeded quota: ([^,]+)/u,
    ([quota = ''], { status }) => ({
      code: status.details?.kind === 'persistentvolumeclaims' ? 'NO_DISK_SPACE' : 'QUOTA_EXCEEDED',
      next: `raise ResourceQuota ${quota} or delete objects that are not needed`,
    }),
  ],
  [/failed quota: .*?: must specify (.+)/u, ([missing = '']) => missingResources(missing)],
  // plugin/pkg/admission/security/podsecurity
  [/violates PodSecurity "([^":]+)/u, ([level = ''], error) => forbidden(podSecurity(level, error))],
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
  [
    /no PriorityClass with name (\S+)/u,
    ([name = '']) => missingObject(`PriorityClass ${name}`, 'priority_class'),
  ],
  [
    /error looking up service account \S+: serviceaccounts? "([^"]+)" not found/u,
    ([name = '']) => missingObject(`ServiceAccount ${name}`, 'service_account'),
  ],
  [
    /RuntimeClass "([^"]+)" not found/u,
    ([name = '']) => missingObject(`RuntimeClass ${name}`, 'runtime_class'),
  ],
  // plugin/pkg/admission/namespace/lifecycle
  [
    /because it is being terminated/u,
    () => forbidden('wait until the namespace is deleted and create it again, or use another one'),
  ],
  // apiserver: pkg/admission/plugin/webhook
  [
    /admission webhook "([^"]+)" denied/u,
    ([name = '']) => forbidden(`the policy behind webhook ${name} must admit it`),
  ],
  // apiserver: pkg/admission/plugin/policy/validating
  [
    /ValidatingAdmissionPolicy '([^']+)' .*denied/u,
    ([name = '']) => forbidden(`ValidatingAdmissionPolicy ${name} must admit it`),
  ],
  // plugin/pkg/admission/limitranger
  [
    /(?:maximum|minimum) \S+ usage per|max limit to request ratio per/u,
    (_, error) => limitRangeViolation(error),
  ],
];

/** Refusals that are not about a policy: a role, a quota, a terminating namespace. */
const authorizationPatterns = /cannot \w+ resource "|exceeded quota: |because it is being terminated/u;
const denialPattern = /admission webhook "[^"]+" denied|ValidatingAdmissionPolicy '[^']+' .*denied/u;

/**
 * Returns true if an admission plugin or a policy of the cluster rejects the object itself, so that another
 * role, more quota or a retry does not help. A webhook may use any code, and a ValidatingAdmissionPolicy uses
 * 422 unless it names another reason (apiserver: plugin/policy/validating/dispatcher.go).
 */
export function isAdmissionRejection(error: unknown): error is ApiError {
  if (!isApiError(error)) return false;
  return (
    denialPattern.test(error.message) || (error.code === 403 && !authorizationPatterns.test(error.message))
  );
}

/** Explains a 403, or a 422 by which a policy refuses. */
export function explainForbidden(error: ApiError): Explanation {
  for (const [pattern, explain] of forbiddenPatterns) {
    const found = pattern.exec(error.message);
    if (found !== null) return explain(found.slice(1), error);
  }
  return forbidden('a role, an admission plugin or a policy of the cluster must admit it');
}

function missingObject(what: string, property: string): Explanation {
  return forbidden(`create ${what} or correct ${property} in cloud_properties`);
}

/** Explains what the levels admit: docs/cpi/vms.md, Profiles. */
function podSecurity(level: string, { message, request }: ApiError): string {
  const [, namespace = 'NAMESPACE'] = /\/namespaces\/([^/]+)/u.exec(request?.path ?? '') ?? [];
  const labelled = (wanted: string): string =>
    `kubectl label namespace ${namespace} pod-security.kubernetes.io/enforce=${wanted} --overwrite`;
  const admits = `the namespace admits pods of the level ${level} only`;
  if (message.startsWith('pods "attach-'))
    return (
      `${admits}, and attachment pods are privileged whatever the profile of the VM is: keep the disks in a namespace that admits them ` +
      `(kubernetes.disk_namespace), or run ${labelled('privileged')}`
    );
  if (level === 'restricted')
    return `${admits}, which no profile of a VM meets: run ${labelled('baseline')} and give the VM the profile baseline, or admit privileged pods`;
  return `${admits}: give the VM that profile (profile in cloud_properties or defaults.profile), or run ${labelled('privileged')}`;
}

const forbidden = (next: string): Explanation => ({ code: 'KUBERNETES_FORBIDDEN', next });

/**
 * Explains that a quota counts a resource that a container does not set; `missing` is the quota's list,
 * `limits.cpu for: bosh,prepare; limits.memory for: bosh` (pkg/quota/v1/evaluator/core/pods.go).
 */
function missingResources(missing: string): Explanation {
  const wanted = [...missing.matchAll(/(\S+) for: ([^;\s]+)/gu)].map(([, resource = '', names = '']) => ({
    resource,
    others: names.split(',').filter((name) => name !== vmContainer),
  }));
  const fixed = wanted.filter(({ others }) => others.length > 0);
  if (fixed.length === 0) {
    const resourceNames = joinUnique(wanted.map(({ resource }) => resource));
    return forbidden(`set ${resourceNames} by resources in cloud_properties or by defaults.resources`);
  }
  const resources = joinUnique(fixed.map(({ resource }) => resource));
  const containers = joinUnique(fixed.flatMap(({ others }) => others));
  return forbidden(
    `no property sets ${resources} of container ${containers}: create a LimitRange in that namespace with defaults (type Container) for them`,
  );
}

/**
 * Explains that a container violates a LimitRange; the message does not name the container
 * (plugin/pkg/admission/limitranger).
 */
function limitRangeViolation({ message }: ApiError): Explanation {
  const container = cpiContainerIn(message);
  if (container === undefined) return forbidden('change the resources of the VM or the LimitRange');
  const change = / ratio per /u.test(message)
    ? 'raise the maxLimitRequestRatio of the LimitRange or lower its default limit'
    : 'lower the min of the LimitRange';
  return forbidden(unchangeable(container, change));
}

const unchangeable = (container: string, change: string): string =>
  `that is container ${container}, which requests a fixed small amount, and no property changes that: ${change}` +
  (container === prepareContainer
    ? ''
    : ', or keep the disks in another namespace (kubernetes.disk_namespace)');

/** core/validation: ValidateResourceRequirements. The CPI itself never sets a limit below a request. */
const aboveLimit = /must be less than or equal to (\S+) limit/gu;

/**
 * Returns the resources whose limits are below what a container requests. The request did not contain those
 * limits: a LimitRange of the namespace set them. Empty for another error.
 */
export function limitsGivenBy({ code, message }: ApiError): string[] {
  const found = code === 422 ? [...message.matchAll(aboveLimit)] : [];
  return [...new Set(found.map(([, name = '']) => name))];
}

/** Describes a LimitRange whose name is not known. */
export const someLimitRange = (namespace: string): string =>
  `a LimitRange in namespace ${namespace} (kubectl get limitranges -n ${namespace})`;

/** Returns the next step for such an error; `limitRange` names the LimitRange. */
export function belowRequest(
  { message, request }: ApiError,
  resources: readonly string[],
  limitRange?: string,
): Explanation {
  const [, namespace = 'NAMESPACE'] = /\/namespaces\/([^/]+)/u.exec(request?.path ?? '') ?? [];
  const named = limitRange ?? someLimitRange(namespace);
  const container = cpiContainerIn(message);
  const next =
    container === undefined
      ? `no property sets this limit of ${joinUnique(resources)}; it is the default of ${named}: set resources.limits in ` +
        'cloud_properties or in defaults.resources, or raise that default'
      : unchangeable(container, `raise the default limit of ${joinUnique(resources)} in ${named}`);
  return { code: 'KUBERNETES_INVALID', next };
}

const fixedAmount =
  /(?:but request is |spec\.initContainers\[\d+\]\.resources\.requests: Invalid value: ")([^,.\]\s"]+)/gu;

/**
 * Returns which container has the request: that of an attachment pod or of a bind pod, or the init container
 * of a VM. Undefined: the VM's own container, whose resources are properties.
 */
function cpiContainerIn(message: string): string | undefined {
  const [, kind] = /^pods? "(attach|bind)-/iu.exec(message) ?? [];
  if (kind !== undefined) return kind === 'attach' ? mountContainer : 'bind';
  const amounts = [...message.matchAll(fixedAmount)].map(([, amount = '']) => amount);
  const isFixed = amounts.some((amount) => Object.values<string>(cpiContainerRequests).includes(amount));
  return isFixed ? prepareContainer : undefined;
}

const joinUnique = (texts: readonly string[]): string => [...new Set(texts)].join(' and ');
