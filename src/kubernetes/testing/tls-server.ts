import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Access } from '../access/access.ts';
import { createTestAuthority } from './certificates.ts';

export interface TestServer {
  readonly access: Access;
  readonly server: Server;
  readonly close: () => Promise<void>;
}

/**
 * Starts a TLS server on port 0 that requests a client certificate, and returns an access with such a
 * certificate.
 */
export async function startTlsServer(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<TestServer> {
  const authority = await createTestAuthority();
  const own = await authority.server({ ip: '127.0.0.1' });
  const client = await authority.client('tester');
  const server = createServer(
    { cert: own.certificate, key: own.key, ca: authority.ca, requestCert: true, rejectUnauthorized: true },
    handler,
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    access: {
      server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
      ca: authority.ca,
      certificate: client.certificate,
      key: client.key,
      namespace: 'default',
    },
    server,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
