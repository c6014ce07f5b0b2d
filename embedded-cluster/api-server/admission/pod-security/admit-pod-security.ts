import type { Pod } from '../../../../src/kubernetes/types/pod.ts';
import { namespaces, pods } from '../../../../src/kubernetes/resources.ts';
import { forbidden, groupResource, invalid } from '../../errors/status-errors.ts';
import type { Registry } from '../../registry/registry.ts';
import type { MutableObject } from '../../kinds/kind.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import {
  checkSecurityLabels,
  describeLevel,
  policyOfNamespace,
  evaluatePod,
  type LevelVersion,
} from './security-policy.ts';

type AddWarning = (message: string) => void;

/**
 * Applies the admission plugin PodSecurity to a new pod: rejects what its namespace enforces against, and
 * warns about what its namespace warns about (pod-security-admission/admission). This server has no audit
 * log, so the mode audit has no effect. Throws ApiError 403.
 */
export function admitPodSecurity(registry: Registry, pod: Pod, warn: AddWarning): void {
  const { namespace, name } = pod.metadata;
  const labels = registry.store.get('namespaces', undefined, namespace)?.metadata.labels ?? {};
  const policy = policyOfNamespace(labels);
  const enforced = evaluatePod(pod, policy.enforce);
  if (enforced !== undefined)
    throw forbidden(
      pods,
      name,
      `violates PodSecurity "${describeLevel(policy.enforce)}": ${enforced.details}`,
    );
  const warned = evaluatePod(pod, policy.warn);
  if (warned !== undefined)
    warn(`would violate PodSecurity "${describeLevel(policy.warn)}": ${warned.details}`);
}

/**
 * Applies the same plugin to a namespace: its labels must be valid, and a warning lists the existing pods
 * that the new enforced level would reject. Throws ApiError 422. Labels that were invalid before may stay
 * invalid.
 */
export function validateNamespaceLabels(
  registry: Registry,
  { draft, current, warn }: { draft: MutableObject; current: StoredObject | undefined; warn: AddWarning },
): void {
  const labels = draft.metadata.labels ?? {};
  const causes = checkSecurityLabels(labels);
  const before = current?.metadata.labels ?? {};
  if (causes.length > 0 && checkSecurityLabels(before).length === 0)
    throw invalid('Namespace', namespaces.group, draft.metadata.name, causes);
  const { enforce } = policyOfNamespace(labels);
  if (current === undefined || describeLevel(enforce) === describeLevel(policyOfNamespace(before).enforce))
    return;
  for (const warning of warnings(registry, draft.metadata.name, enforce)) warn(warning);
}

function warnings(registry: Registry, namespace: string, enforce: LevelVersion): string[] {
  const named = new Map<string, string[]>();
  for (const object of registry.store.list(groupResource(pods), namespace)) {
    const { reasons } = evaluatePod(object as unknown as Pod, enforce) ?? {};
    if (reasons !== undefined) named.set(reasons, [...(named.get(reasons) ?? []), object.metadata.name]);
  }
  if (named.size === 0) return [];
  const lines = [...named].map(([reasons, [first = '', ...others]]) => {
    const more = others.length === 1 ? ' (and 1 other pod)' : ` (and ${others.length} other pods)`;
    return `${first}${others.length === 0 ? '' : more}: ${reasons}`;
  });
  const head = `existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${describeLevel(enforce)}"`;
  return [head, ...lines.toSorted()];
}
