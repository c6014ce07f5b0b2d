import type { IncomingMessage } from 'node:http';
import { authorize } from '../access/authorize.ts';
import { accountGroups, accountOfUser, authenticatedGroup } from '../access/user.ts';
import type { User } from '../access/user.ts';
import { badRequest } from '../errors/status-errors.ts';
import type { Registry } from '../registry/registry.ts';

/**
 * The user that a request stands for (`kubectl --as`), which needs the verb impersonate on each user, group and
 * service account named (apiserver pkg/endpoints/filters/impersonation). Throws ApiError 400 and 403.
 */
export function impersonated(registry: Registry, user: User, { headersDistinct }: IncomingMessage): User {
  const asked = Object.keys(headersDistinct).filter((header) => header.startsWith('impersonate-'));
  if (asked.length === 0) return user;
  const refused = asked.find((header) => header !== 'impersonate-user' && header !== 'impersonate-group');
  if (refused !== undefined) throw badRequest(`the embedded cluster does not do the header ${refused}`);
  const [name = ''] = headersDistinct['impersonate-user'] ?? [];
  const groups = headersDistinct['impersonate-group'] ?? [];
  if (name === '') throw badRequest('requested impersonation of groups without impersonating a user');
  const account = accountOfUser(name);
  if (account === undefined) mayBe(registry, user, { resource: 'users', name });
  else mayBe(registry, user, { resource: 'serviceaccounts', ...account });
  for (const group of groups) mayBe(registry, user, { resource: 'groups', name: group });
  const given = account !== undefined && groups.length === 0 ? accountGroups(account.namespace) : groups;
  return { name, groups: [...new Set([...given, authenticatedGroup])] };
}

function mayBe(
  registry: Registry,
  user: User,
  whom: { readonly resource: string; readonly name: string; readonly namespace?: string },
): void {
  authorize(registry, user, { verb: 'impersonate', group: '', ...whom });
}
