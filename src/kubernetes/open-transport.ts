import { bunRuntime } from './bun/bun-runtime.ts';
import type { Access } from './access.ts';
import { BunSocketTransport } from './bun-socket-transport.ts';
import type { Transport, TransportOptions } from './transport.ts';

/** The transport that this runtime is fastest with; on Bun node:https is not even loaded. */
export async function openTransport(access: Access, options: TransportOptions = {}): Promise<Transport> {
  const runtime = bunRuntime();
  if (runtime !== undefined) {
    return new BunSocketTransport(runtime, access, options);
  }
  const { NodeHttpsTransport } = await import('./node-https-transport.ts');
  return new NodeHttpsTransport(access, options);
}
