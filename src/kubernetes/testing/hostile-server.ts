import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { KeyPair } from './certificates.ts';
import { createTestAuthority } from './certificates.ts';
import { closedPort } from './closed-port.ts';
import { startProxy } from './proxy-server.ts';

/** The input of the transport's conformance suite; plain data, so that it can be sent to Bun. */
export interface HostileServers {
  readonly server: string;
  readonly wrongNameServer: string;
  readonly refusedServer: string;
  /** A server that is reachable only through the proxy; its certificate is for `localhost`. */
  readonly proxiedServer: string;
  readonly proxy: string;
  /** A proxy that opens no tunnel. */
  readonly refusingProxy: string;
  readonly ca: string;
  readonly otherCa: string;
  readonly client: KeyPair;
}

export const bigLength = 3_000_000;

const ok = 'HTTP/1.1 200 OK\r\n';
const chunks = `${ok}Transfer-Encoding: chunked\r\n\r\n`;

interface RawAnswer {
  readonly text: string;
  /** A text that is sent repeatedly after it, without end. */
  readonly goesOn?: string;
}

/** Responses that are not valid HTTP/1.1. */
export const malformedAnswers: Readonly<Record<string, RawAnswer>> = {
  'another protocol': { text: 'SSH-2.0-OpenSSH_9.2\r\n\r\n' },
  'a header without a name': { text: `${ok}: x\r\nContent-Length: 0\r\n\r\n` },
  'a NUL in a header': { text: `${ok}x: a\0b\r\nContent-Length: 0\r\n\r\n` },
  'a CR in a header': { text: `${ok}x: a\rb\r\nContent-Length: 0\r\n\r\n` },
  'two lengths': { text: `${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab` },
  'a negative length': { text: `${ok}Content-Length: -1\r\n\r\n` },
  'a chunk without a size': { text: `${chunks}\r\n` },
  'a negative chunk': { text: `${chunks}-1\r\n` },
  'a chunk longer than its size': { text: `${chunks}1\r\nab\r\n0\r\n\r\n` },
  'a header that does not end': { text: `${ok}a: `, goesOn: 'b'.repeat(1 << 16) },
  'headers that do not end': { text: ok, goesOn: 'a: b\r\n'.repeat(1 << 12) },
};

/**
 * Starts real TLS servers that behave well or badly depending on the path; they request a client certificate.
 */
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
  const broken: Record<string, number> = {};
  const server = createServer(
    { cert: pair.certificate, key: pair.key, ca, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const socket = sockets.get(request.socket) ?? (lastSocket += 1);
      sockets.set(request.socket, socket);
      if (request.url?.includes('/endless') === true) {
        openStreams += 1;
        response.on('close', () => (openStreams -= 1));
      }
      answer(request, response, () => ({ socket, openStreams, broken })).catch((error: unknown) => {
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

const wholeAnswers: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  '/busy': (response) => response.writeHead(429, { 'retry-after': '7' }).end('{"kind":"Status"}'),
  '/down': (response) => response.writeHead(503).end('no upstream'),
  '/redirect': (response) => response.writeHead(302, { location: '/prefix/echo' }).end(),
  '/big': (response) => response.end('x'.repeat(bigLength)),
  '/packed': (response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(bigLength))),
  '/lines': (response) => response.write('one\n', () => response.end('two\n')),
};

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  state: () => { socket: number; openStreams: number; broken: Record<string, number> },
): Promise<void> {
  const path = new URL(request.url ?? '/', 'https://any').pathname.replace('/prefix', '');
  const whole = wholeAnswers[path];
  if (whole !== undefined) return void whole(response);
  switch (path) {
    case '/slow':
      return;
    case '/reset': {
      const { broken } = state();
      const method = request.method ?? '';
      broken[method] = (broken[method] ?? 0) + 1;
      request.socket.destroy();
      return;
    }
    case '/truncated':
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half', () => request.socket.destroy());
      return;
    case '/endless':
      response.write('one\n');
      return;
    case '/endless/flood':
      flood(response, 'x'.repeat(1 << 20));
      return;
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
      const raw = rawAnswer(path);
      if (raw !== undefined) {
        request.socket.write(raw.text);
        if (raw.goesOn !== undefined) flood(request.socket, raw.goesOn);
        return;
      }
      const body = await text(request);
      const { method, url, headers } = request;
      response.end(JSON.stringify({ method, url, headers, body, ...state() }));
    }
  }
}

/** Returns the raw bytes to send instead of a response. */
function rawAnswer(path: string): RawAnswer | undefined {
  if (path === '/blanks') return { text: `${ok}x:${' \t'.repeat(30_000)}a\r\nContent-Length: 0\r\n\r\n` };
  if (path === '/more-than-asked')
    return { text: `${ok}Content-Length: 2\r\n\r\nok${ok}Content-Length: 3\r\n\r\nbad` };
  return malformedAnswers[decodeURIComponent(path.replace('/malformed/', ''))];
}

function flood(stream: Writable, chunk: string): void {
  const write = (): void => {
    while (!stream.destroyed && stream.write(chunk));
  };
  stream.on('drain', write);
  write();
}
