import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { KeyPair } from './certificates.ts';
import { createTestAuthority } from './certificates.ts';
import { closedPort } from './closed-port.ts';
import { startProxy } from './proxy-server.ts';

/** Everything the transport's conformance suite needs to know; plain data, so that it can be sent to Bun. */
export interface HostileServers {
  readonly server: string;
  readonly wrongNameServer: string;
  readonly refusedServer: string;
  /** A server that only the proxy knows the way to; its certificate is that of `localhost`. */
  readonly proxiedServer: string;
  readonly proxy: string;
  /** A proxy that opens no tunnel. */
  readonly refusingProxy: string;
  readonly ca: string;
  readonly otherCa: string;
  readonly client: KeyPair;
}

export const bigLength = 3_000_000;

/** Real TLS servers that behave well or badly as the path says; they ask for a client certificate. */
export async function startHostileServers(): Promise<HostileServers & { close(): Promise<void> }> {
  const authority = await createTestAuthority();
  const other = await createTestAuthority();
  const good = await listen(await authority.server({ ip: '127.0.0.1', dns: 'localhost' }), authority.ca);
  const wrongName = await listen(await authority.server({ dns: 'elsewhere.example' }), authority.ca);
  const proxy = await startProxy(new URL(good.url).port);
  return {
    proxiedServer: 'https://behind-the-proxy.invalid:6443',
    proxy: `http://user:pass%20word@127.0.0.1:${proxy.port}`,
    refusingProxy: `http://127.0.0.1:${proxy.port}`,
    server: `${good.url}/prefix`,
    wrongNameServer: wrongName.url,
    refusedServer: `https://127.0.0.1:${await closedPort()}`,
    ca: authority.ca,
    otherCa: other.ca,
    client: await authority.client('tester'),
    close: async () => {
      await good.close();
      await wrongName.close();
      proxy.close();
    },
  };
}

async function listen(pair: KeyPair, ca: string): Promise<{ url: string; close(): Promise<void> }> {
  const sockets = new WeakMap<object, number>();
  let lastSocket = 0;
  let openStreams = 0;
  const server = createServer(
    { cert: pair.certificate, key: pair.key, ca, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const socket = sockets.get(request.socket) ?? (lastSocket += 1);
      sockets.set(request.socket, socket);
      if (request.url?.includes('/endless') === true) {
        openStreams += 1;
        response.on('close', () => (openStreams -= 1));
      }
      answer(request, response, () => ({ socket, openStreams })).catch((error: unknown) => {
        response.destroy(error as Error);
      });
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  state: () => { socket: number; openStreams: number },
): Promise<void> {
  const path = new URL(request.url ?? '/', 'https://any').pathname.replace('/prefix', '');
  switch (path) {
    case '/slow':
      return;
    case '/reset':
      request.socket.destroy();
      return;
    case '/truncated':
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half', () => request.socket.destroy());
      return;
    case '/busy':
      response.writeHead(429, { 'retry-after': '7' }).end('{"kind":"Status"}');
      return;
    case '/down':
      response.writeHead(503).end('no upstream');
      return;
    case '/redirect':
      response.writeHead(302, { location: '/prefix/echo' }).end();
      return;
    case '/big':
      response.end('x'.repeat(bigLength));
      return;
    case '/lines':
      response.write('one\n', () => response.end('two\n'));
      return;
    case '/endless':
      response.write('one\n');
      return;
    case '/endless/flood': {
      const piece = Buffer.alloc(1 << 20, 'x');
      const flood = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on('drain', flood);
      flood();
      return;
    }
    case '/endless/slow': {
      response.write('one\n');
      const later = setTimeout(() => response.write('two\n'), 2500);
      response.on('close', () => clearTimeout(later));
      return;
    }
    case '/broken-lines':
      response.write('one\n', () => setTimeout(() => request.socket.destroy(), 50));
      return;
    default: {
      const body = await text(request);
      const { method, url, headers } = request;
      response.end(JSON.stringify({ method, url, headers, body, ...state() }));
    }
  }
}
