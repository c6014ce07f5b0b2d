import type { IncomingMessage } from 'node:http';
import type { ResourceAttributes } from '../access/attributes.ts';
import { authorize } from '../access/authorize.ts';
import { serviceAccountGroups, parseServiceAccountUsername, authenticatedGroup } from '../access/user.ts';
import type { User } from '../access/user.ts';
import { badRequest } from '../errors/status-errors.ts';
import type { Registry } from '../registry/registry.ts';
import { tryDecodeUriComponent } from './decoded-or-same.ts';

const extraPrefix = 'impersonate-extra-';
const impersonationHeaders = new Set(['impersonate-user', 'impersonate-group', 'impersonate-uid']);

/**
 * Returns the user that a request impersonates (`kubectl --as`). That needs the verb impersonate on each
 * user, group, service account, uid and extra value in the headers (apiserver
 * pkg/endpoints/filters/impersonation). Throws ApiError 400 and 403.
 */
export function impersonatedUser(registry: Registry, user: User, { headersDistinct }: IncomingMessage): User {
  const asked = Object.keys(headersDistinct).filter((header) => header.startsWith('impersonate-'));
  if (asked.length === 0) return user;
  const extra = extraOf(headersDistinct);
  const refused = asked.find(
    (header) => !impersonationHeaders.has(header) && !header.startsWith(extraPrefix),
  );
  if (refused !== undefined) throw badRequest(`the embedded cluster does not do the header ${refused}`);
  const [name = ''] = headersDistinct['impersonate-user'] ?? [];
  const groups = headersDistinct['impersonate-group'] ?? [];
  const [uid = ''] = headersDistinct['impersonate-uid'] ?? [];
  if (name === '') throw badRequest('requested impersonation without impersonating a user');
  assertMayImpersonate(registry, user, { name, groups, uid, extra });
  const account = parseServiceAccountUsername(name);
  const requestedUser =
    account !== undefined && groups.length === 0 ? serviceAccountGroups(account.namespace) : groups;
  return {
    name,
    groups: [...new Set([...requestedUser, authenticatedGroup])],
    ...(uid !== '' && { uid }),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

/**
 * Reads `Impersonate-Extra-<key>`. The key may be percent-encoded, because a header's name cannot contain a
 * slash.
 */
function extraOf(headers: IncomingMessage['headersDistinct']): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([header, values]) =>
      header.startsWith(extraPrefix)
        ? [[tryDecodeUriComponent(header.slice(extraPrefix.length)), values ?? []]]
        : [],
    ),
  );
}

/** Throws ApiError 403 for the first part of the impersonated user that the user may not impersonate. */
function assertMayImpersonate(
  registry: Registry,
  user: User,
  { name, groups, uid, extra }: Required<Pick<User, 'name' | 'groups' | 'uid' | 'extra'>>,
): void {
  const mayBe = (whom: Omit<ResourceAttributes, 'verb' | 'group'> & { readonly group?: string }): void =>
    authorize(registry, user, { verb: 'impersonate', group: '', ...whom });
  const account = parseServiceAccountUsername(name);
  if (account === undefined) mayBe({ resource: 'users', name });
  else mayBe({ resource: 'serviceaccounts', ...account });
  for (const group of groups) mayBe({ resource: 'groups', name: group });
  const group = 'authentication.k8s.io';
  if (uid !== '') mayBe({ group, resource: 'uids', name: uid });
  for (const [subresource, values] of Object.entries(extra))
    for (const value of values) mayBe({ group, resource: 'userextras', subresource, name: value });
}
