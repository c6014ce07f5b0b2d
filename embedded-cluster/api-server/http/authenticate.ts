import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import {
  authenticatedGroup,
  mastersGroup,
  type User,
  serviceAccountGroups,
  parseServiceAccountUsername,
} from '../access/user.ts';
import { unauthorized, badRequest } from '../errors/status-errors.ts';
import type { Registry } from '../registry/registry.ts';
import { tokenIssuer, InvalidTokenError, verifyAccountToken } from '../tokens/account-token.ts';
import { authorize } from '../access/authorize.ts';
import { type ResourceAttributes } from '../access/policy-rule.ts';
import { tryDecodeUriComponent } from './decoded-or-same.ts';

/**
 * Authenticates a request: by a client certificate of this cluster's authority (CN is the user, O the
 * groups), by the administrator's bearer token, or by a token of a service account. With headers
 * Impersonate-*, returns the impersonated user. There is no anonymous user. Throws ApiError 401 if neither
 * certificate nor token is valid, 403 if the user may not impersonate.
 */
export function authenticate(registry: Registry, request: IncomingMessage, token: string): User {
  const presented = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const user =
    authenticateCertificate(request.socket as TLSSocket) ?? userOfToken(registry, presented, token);
  return impersonatedUser(registry, { ...user, groups: [...user.groups, authenticatedGroup] }, request);
}

const certificateUser = Symbol('the user of its certificate');

/**
 * Caches the user per connection: a connection has only one certificate, and reading it costs more than most
 * requests do.
 */
function authenticateCertificate(
  socket: TLSSocket & { [certificateUser]?: User | undefined },
): User | undefined {
  if (!socket.authorized) return undefined;
  if (!(certificateUser in socket)) socket[certificateUser] = parseSubject(socket);
  return socket[certificateUser];
}

function parseSubject(socket: TLSSocket): User | undefined {
  const { CN, O } = socket.getPeerCertificate().subject as { CN?: string | string[]; O?: string | string[] };
  const [name] = [CN ?? []].flat();
  return name === undefined ? undefined : { name, groups: [O ?? []].flat() };
}

function userOfToken(registry: Registry, presented: string | undefined, token: string): User {
  if (presented === undefined) throw unauthorized();
  if (timingSafeEqual(digest(presented), digest(token)))
    return { name: 'kubernetes-admin', groups: [mastersGroup] };
  try {
    return verifyAccountToken(registry, presented, [tokenIssuer]).user;
  } catch (error) {
    if (error instanceof InvalidTokenError) throw unauthorized();
    throw error;
  }
}

/** Digests have one length, so that the comparison takes the same time for any input. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const extraPrefix = 'impersonate-extra-';
const impersonationHeaders = new Set(['impersonate-user', 'impersonate-group', 'impersonate-uid']);

/**
 * Returns the user that a request impersonates (`kubectl --as`). That needs the verb impersonate on each
 * user, group, service account, uid and extra value in the headers (apiserver
 * pkg/endpoints/filters/impersonation). Throws ApiError 400 and 403.
 */
function impersonatedUser(registry: Registry, user: User, { headersDistinct }: IncomingMessage): User {
  const requested = Object.keys(headersDistinct).filter((header) => header.startsWith('impersonate-'));
  if (requested.length === 0) return user;
  const extra = extraOf(headersDistinct);
  const refused = requested.find(
    (header) => !impersonationHeaders.has(header) && !header.startsWith(extraPrefix),
  );
  if (refused !== undefined) throw badRequest(`the embedded cluster does not support the header ${refused}`);
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
