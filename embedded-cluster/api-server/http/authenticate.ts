import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { authenticatedGroup, mastersGroup } from '../access/user.ts';
import type { User } from '../access/user.ts';
import { unauthorized } from '../errors/status-errors.ts';
import type { Registry } from '../registry/registry.ts';
import { tokenIssuer, TokenProblem, verifyAccountToken } from '../tokens/account-token.ts';
import { impersonatedUser } from './impersonate.ts';

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
    if (error instanceof TokenProblem) throw unauthorized();
    throw error;
  }
}

/** Digests have one length, so that the comparison takes the same time for any input. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
