import type { MutableObject, Kind } from '../kinds/kind.ts';
import { forbidden, requestEntityTooLarge } from '../errors/status-errors.ts';
import type { Registry } from '../registry/registry.ts';
import { jsonEqual } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { evaluate } from './authorize.ts';
import { breakdownRule, countRuleParts, ruleCovers } from './policy-rule.ts';
import type { PolicyRule } from './policy-rule.ts';
import { rulesOfRole, rulesFor } from './rules-of-user.ts';
import type { RoleRef } from './rules-of-user.ts';
import { mastersGroup } from './user.ts';
import type { User } from './user.ts';

/** Each part is compared with the rules of the user, so the number of parts is limited. */
const maximumRuleParts = 10_000;
const rbacGroup = 'rbac.authorization.k8s.io';

/**
 * Rejects a role, or a binding, whose rules exceed the author's own rights, unless the author may `escalate`
 * (roles) or `bind` (bindings) (kubernetes: pkg/registry/rbac). Throws ApiError 403, 404 if a binding names a
 * role that does not exist, 413 for a role with more than 10,000 rights.
 */
export function assertNoEscalation(
  registry: Registry,
  kind: Kind,
  { user, draft, current }: { user: User; draft: MutableObject; current: StoredObject | undefined },
): void {
  if (kind.resource.group !== rbacGroup || user.groups.includes(mastersGroup)) return;
  const content = kind.name.endsWith('Binding') ? ['roleRef', 'subjects'] : ['rules'];
  if (current !== undefined && content.every((field) => jsonEqual(draft[field], current[field]))) return;
  const { namespace, name } = draft.metadata;
  if (mayEscalateOrBind(registry, kind, { user, draft })) return;
  const rules = kind.name.endsWith('Binding')
    ? rulesOfRole(registry, draft['roleRef'] as RoleRef, namespace)
    : ((draft['rules'] ?? []) as PolicyRule[]);
  // This limit is needed because four lists of a hundred strings each give a hundred million rights.
  if (rules.reduce((sum, rule) => sum + countRuleParts(rule), 0) > maximumRuleParts)
    throw requestEntityTooLarge(
      `the role gives more than ${maximumRuleParts} rights (verb, group, resource and name); split it`,
    );
  const granted = rulesFor(registry, user, namespace).rules;
  const missing = rules
    .flatMap(breakdownRule)
    .filter((right) => !granted.some((rule) => ruleCovers(rule, right)));
  if (missing.length === 0) return;
  const groups = user.groups.map((group) => JSON.stringify(group)).join(' ');
  const list = mergeByVerb(missing).map(describe).toSorted().join('\n');
  throw forbidden(
    kind.resource,
    name,
    `user ${JSON.stringify(user.name)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${list}`,
  );
}

function mayEscalateOrBind(
  registry: Registry,
  kind: Kind,
  { user, draft }: { user: User; draft: MutableObject },
): boolean {
  const { namespace, name } = draft.metadata;
  if (!kind.name.endsWith('Binding')) {
    const { plural: resource } = kind.resource;
    return evaluate(registry, user, { verb: 'escalate', group: rbacGroup, resource, namespace, name })
      .allowed;
  }
  const roleRef = draft['roleRef'] as RoleRef;
  const resource = roleRef.kind === 'Role' ? 'roles' : 'clusterroles';
  return evaluate(registry, user, { verb: 'bind', group: rbacGroup, resource, namespace, name: roleRef.name })
    .allowed;
}

/** Merges rights that differ only in their verbs. */
function mergeByVerb(rights: readonly PolicyRule[]): PolicyRule[] {
  const joined = new Map<string, PolicyRule>();
  for (const { verbs = [], ...rest } of rights) {
    const key = JSON.stringify(rest);
    const previous = joined.get(key);
    joined.set(key, { ...rest, verbs: [...new Set([...(previous?.verbs ?? []), ...verbs])] });
  }
  return [...joined.values()];
}

function describe(rule: PolicyRule): string {
  const list = (name: string, values: string[] | undefined): string[] =>
    values === undefined ? [] : [`${name}:[${values.map((value) => JSON.stringify(value)).join(' ')}]`];
  const parts = [
    ...list('APIGroups', rule.apiGroups),
    ...list('Resources', rule.resources),
    ...list('NonResourceURLs', rule.nonResourceURLs),
    ...list('ResourceNames', rule.resourceNames),
    ...list('Verbs', rule.verbs),
  ];
  return `{${parts.join(', ')}}`;
}
