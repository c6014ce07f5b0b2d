import { bunRuntime } from './bun/bun-runtime.ts';
import type { Access } from './access.ts';
import { identityHeadersInBun } from './access.ts';
import { BunSocketTransport } from './bun-socket-transport.ts';
import type { Transport, TransportOptions } from './transport.ts';

/** The transport that this runtime is fastest with; on Bun node:https is not even loaded. */
export async function openTransport(access: Access, options: TransportOptions = {}): Promise<Transport> {
  const transport = await bareTransport(access, options);
  if (access.credentials === undefined) return transport;
  const { renewingTransport } = await import('./renewing-transport.ts');
  return renewingTransport(transport, access.credentials);
}

async function bareTransport(access: Access, options: TransportOptions): Promise<Transport> {
  const runtime = bunRuntime();
  if (runtime === undefined) {
    const { NodeHttpsTransport } = await import('./node-https-transport.ts');
    return new NodeHttpsTransport(access, options);
  }
  // before any request, since only a later one (a command in a pod) may be of the kind that cannot be sent
  identityHeadersInBun(access, {});
  if (access.proxy === undefined) {
    const transport = new BunSocketTransport(runtime, access, options);
    if (options.connectNow === true) await transport.beginHandshake();
    return transport;
  }
  // only Bun's fetch knows the way through a proxy
  const { FetchTransport } = await import('./fetch-transport.ts');
  return new FetchTransport(access, options);
}
