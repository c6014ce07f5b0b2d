import { type Access, identityHeadersInBun, isBun } from '../access/access.ts';
import { FetchTransport } from './fetch-transport.ts';
import type { Transport, TransportOptions } from './transport.ts';

/** Opens the transport of this runtime. Bun does not even load node:https. */
export async function openTransport(access: Access, options: TransportOptions = {}): Promise<Transport> {
  const transport = await bareTransport(access, options);
  if (access.credentials === undefined) return transport;
  const { renewingTransport } = await import('./renewing-transport.ts');
  return renewingTransport(transport, access.credentials);
}

async function bareTransport(access: Access, options: TransportOptions): Promise<Transport> {
  if (isBun()) {
    // before any request, because only a later one (a command in a pod) may be of the kind that cannot be
    // sent
    identityHeadersInBun(access, {});
    return new FetchTransport(access, options);
  }
  const { NodeHttpsTransport } = await import('./node-transport.ts');
  return new NodeHttpsTransport(access, options);
}
