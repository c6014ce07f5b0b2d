import type { Registry } from '../registry/registry.ts';
import { forbiddenError } from './attributes.ts';
import type { Attributes } from './attributes.ts';
import { ruleMatches } from './policy-rule.ts';
import { rulesFor } from './rules-of-user.ts';
import { mastersGroup } from './user.ts';
import type { User } from './user.ts';

export interface Decision {
  readonly allowed: boolean;
  /** Why not, beyond that nothing allows it: roles that bindings name and that are not there. */
  readonly reason: string;
}

/** RBAC: allowed is what a role gives; nothing can be denied (kubernetes: plugin/pkg/auth/authorizer/rbac). */
export function evaluate(registry: Pick<Registry, 'store'>, user: User, attributes: Attributes): Decision {
  if (user.groups.includes(mastersGroup)) return { allowed: true, reason: '' };
  const namespace = 'path' in attributes ? undefined : attributes.namespace;
  const { rules, problems: errors } = rulesFor(registry, user, namespace);
  const allowed = rules.some((rule) => ruleMatches(rule, attributes));
  return { allowed, reason: allowed || errors.length === 0 ? '' : `RBAC: ${aggregateMessage(errors)}` };
}

/** As decide; throws ApiError 403 for what is not allowed. */
export function authorize(registry: Pick<Registry, 'store'>, user: User, attributes: Attributes): void {
  const { allowed, reason } = evaluate(registry, user, attributes);
  if (!allowed) throw forbiddenError(user, attributes, reason);
}

/** As Go prints an aggregate of errors. */
function aggregateMessage(problems: readonly string[]): string {
  const [first = '', ...more] = [...new Set(problems)];
  return more.length === 0 ? first : `[${[first, ...more].join(', ')}]`;
}
