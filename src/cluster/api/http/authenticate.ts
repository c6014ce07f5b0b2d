import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { unauthorized } from '../errors/status-errors.ts';

/**
 * Lets through whoever holds a client certificate of this cluster's authority or its bearer token; both are the
 * administrator. Throws ApiError 401 for everybody else.
 */
export function authenticate(request: IncomingMessage, token: string): void {
  if ((request.socket as TLSSocket).authorized) return;
  const presented = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (presented === undefined || !timingSafeEqual(digest(presented), digest(token))) throw unauthorized();
}

/** Of one length, so that the comparison takes the same time whatever was sent. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
