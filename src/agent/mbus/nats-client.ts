import type { ConnectionOptions } from 'node:tls';
import {
  NatsConnectionImpl,
  setTransportFactory,
  type ConnectionOptions as ClientOptions,
  type NatsConnection as Client,
} from '@nats-io/transport-node/lib/nats-base-client.js';
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js';

/** The library passes these options to tls.connect, but its type has only the first three of them. */
export type TlsOptions = { readonly cert: string; readonly key: string; readonly ca: string } & Pick<
  ConnectionOptions,
  'host' | 'minVersion' | 'checkServerIdentity'
>;

/**
 * The library's own transport leaves the socket of an attempt open if the server takes the connection and
 * says nothing. The agent tries for ever, so that it would have a socket more after each attempt.
 */
class ClosingTransport extends NodeTransport {
  override async close(error?: Error): Promise<void> {
    await super.close(error);
    if (!this.connected) this.discard();
  }
}

/** Connects once. Rejects if the server is not reachable or not authentic, or if it refuses the client. */
export function connectNats(options: ClientOptions & { readonly tls: TlsOptions }): Promise<Client> {
  setTransportFactory({ factory: () => new ClosingTransport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect({ ...options, reconnect: false, ignoreClusterUpdates: true });
}
