import type { Access } from './access.ts';
import type { Transport, TransportOptions } from './transport.ts';

/** The transport that this runtime is fastest with; the other one is not even loaded. */
export async function openTransport(access: Access, options: TransportOptions = {}): Promise<Transport> {
  if ('Bun' in globalThis) {
    const { FetchTransport } = await import('./fetch-transport.ts');
    return new FetchTransport(access, options);
  }
  const { NodeHttpsTransport } = await import('./node-https-transport.ts');
  return new NodeHttpsTransport(access, options);
}
