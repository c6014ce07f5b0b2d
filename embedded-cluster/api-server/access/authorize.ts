import type { Registry } from '../registry/registry.ts';
import { ruleMatches, qualifiedResource, type Attributes } from './policy-rule.ts';
import { rulesFor } from './rules-of-user.ts';
import { mastersGroup, type User } from './user.ts';
import type { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import { groupResource, newStatusError } from '../errors/status-errors.ts';

interface Decision {
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

/** Returns the 403 for a request that no role allows (apiserver responsewriters.ForbiddenStatusError). */
function forbiddenError(user: User, attributes: Attributes, reason = ''): ApiError {
  const sentence = `${describeRequest(user, attributes)}${reason === '' ? '' : `: ${reason}`}`;
  if ('path' in attributes) return newStatusError(403, 'Forbidden', `forbidden: ${sentence}`, {});
  const { group, resource, name = '' } = attributes;
  const subject = groupResource({ group, plural: resource });
  const message = `${subject}${name === '' ? '' : ` ${JSON.stringify(name)}`} is forbidden: ${sentence}`;
  return newStatusError(403, 'Forbidden', message, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    kind: resource,
  });
}

function describeRequest(user: User, attributes: Attributes): string {
  const start = `User ${JSON.stringify(user.name)} cannot ${attributes.verb}`;
  if ('path' in attributes) return `${start} path ${JSON.stringify(attributes.path)}`;
  const { group, namespace = '' } = attributes;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  return `${start} resource ${JSON.stringify(qualifiedResource(attributes))} in API group ${JSON.stringify(group)} ${where}`;
}
