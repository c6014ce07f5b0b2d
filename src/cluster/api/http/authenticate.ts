import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { unauthorized } from '../errors/status-errors.ts';

/**
 * Lets through whoever holds a client certificate of this cluster's authority; there is one user, and it may do
 * everything. Throws ApiError 401 for everybody else.
 */
export function authenticate(request: IncomingMessage): void {
  const socket = request.socket as TLSSocket;
  if (socket.authorized !== true) throw unauthorized();
}
