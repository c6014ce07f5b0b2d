import assert from 'node:assert/strict';
import { isProductError } from '../../errors/product-error.ts';
import type { Access } from '../access/access.ts';
import {
  transportFailure,
  type TransportFailure,
  type Transport,
  type TransportOptions,
  type TransportResponse,
} from '../client/transport.ts';
import type { HostileServers } from './hostile-server.ts';

type MakeTransport = (access: Access, options?: TransportOptions) => Transport;

export interface ConformanceCase {
  readonly name: string;
  readonly run: (make: MakeTransport, servers: HostileServers) => Promise<void>;
}

/** A request as the server of `/echo` received it. */
export interface Echo {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
  socket: number;
  openStreams: number;
  /** The number of requests to `/reset` by method. */
  broken: Record<string, number>;
}

export function access(servers: HostileServers): Access {
  return {
    server: servers.server,
    ca: servers.ca,
    certificate: servers.client.certificate,
    key: servers.client.key,
    namespace: 'default',
  };
}

export async function using(
  transport: Transport,
  use: (transport: Transport) => Promise<void>,
): Promise<void> {
  try {
    await use(transport);
  } finally {
    transport.close();
  }
}

export async function fails(transport: Transport, path: string, failure?: TransportFailure): Promise<void> {
  await using(transport, async () => {
    await assert.rejects(transport.request({ method: 'GET', path }), (error) => {
      assert.ok(isProductError(error, 'KUBERNETES_UNREACHABLE'), String(error));
      assert.match(
        error.message,
        /at (127\.0\.0\.1|[a-z-]+\.invalid):\d+ (through the proxy 127\.0\.0\.1:\d+ )?could not be reached: /u,
      );
      if (failure !== undefined) {
        assert.equal(transportFailure(error), failure, `${error.message} ${String(error.cause)}`);
      }
      return true;
    });
  });
}

export async function openStreams(transport: Transport, expected: number): Promise<void> {
  const deadline = Date.now() + 5000;
  for (;;) {
    const open = parseEcho(await transport.request({ method: 'GET', path: '/echo' })).openStreams;
    if (open === expected || Date.now() > deadline) {
      assert.equal(open, expected);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function parseEcho(response: TransportResponse): Echo {
  return JSON.parse(response.body) as Echo;
}
