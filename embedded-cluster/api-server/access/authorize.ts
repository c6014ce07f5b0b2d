import type { Registry } from '../registry/registry.ts';
import { forbiddenError } from './attributes.ts';
import type { Attributes } from './attributes.ts';
import { ruleMatches } from './policy-rule.ts';
import { rulesFor } from './rules-of-user.ts';
import { mastersGroup } from './user.ts';
import type { User } from './user.ts';

export interface Decision {
  readonly allowed: boolean;
  /** Errors met during the evaluation: bindings that name a role that does not exist. */
  readonly reason: string;
}

/**
 * Evaluates RBAC: a request is allowed if a role grants it; there are no deny rules (kubernetes:
 * plugin/pkg/auth/authorizer/rbac).
 */
export function evaluate(registry: Pick<Registry, 'store'>, user: User, attributes: Attributes): Decision {
  if (user.groups.includes(mastersGroup)) return { allowed: true, reason: '' };
  const namespace = 'path' in attributes ? undefined : attributes.namespace;
  const { rules, problems: errors } = rulesFor(registry, user, namespace);
  const allowed = rules.some((rule) => ruleMatches(rule, attributes));
  return { allowed, reason: allowed || errors.length === 0 ? '' : `RBAC: ${aggregateMessage(errors)}` };
}

/** Throws ApiError 403 if `evaluate` does not allow the request. */
export function authorize(registry: Pick<Registry, 'store'>, user: User, attributes: Attributes): void {
  const { allowed, reason } = evaluate(registry, user, attributes);
  if (!allowed) throw forbiddenError(user, attributes, reason);
}

/** Formats errors as Go prints an aggregate of errors. */
function aggregateMessage(problems: readonly string[]): string {
  const [first = '', ...more] = [...new Set(problems)];
  return more.length === 0 ? first : `[${[first, ...more].join(', ')}]`;
}
