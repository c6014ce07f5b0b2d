import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { createTestAuthority, type KeyPair } from '../../src/kubernetes/testing/certificates.ts';
import type { Access } from '../../src/kubernetes/access/access.ts';

export interface ProxiedRequest {
  /** Counts from 1. */
  readonly number: number;
  readonly method: string;
  /** Path and query. */
  readonly url: string;
}

/** True if the request changes something. */
export const isWrite = ({ method, url }: ProxiedRequest): boolean =>
  method !== 'GET' && !isExec(url) && !url.includes('dryRun=');

/** True for a command in a pod: a WebSocket. */
export const isExec = (url: string): boolean => /\/exec(?:\?|$)/u.test(url);

/**
 * The treatment of a request: `lost` never reaches the server, `unheard` reaches it and its response is lost,
 * `silent` reaches it, and the connection stays open without a response.
 */
export type Fate =
  | { readonly kind: 'pass' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'unheard' }
  | { readonly kind: 'silent' }
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body: string;
    }
  | { readonly kind: 'late'; readonly milliseconds: number };

export interface ApiProxyOptions {
  readonly access: Access;
  /** Called for every request, and awaited before the request is processed. */
  readonly decide: (request: ProxiedRequest) => Fate | Promise<Fate>;
  /** Called when the server's response has arrived, before the caller receives it. */
  readonly onAnswer?: (request: ProxiedRequest, status: number) => void | Promise<void>;
}

/** A TLS proxy in front of a Kubernetes API. It forwards requests with their bearer token, or harms them. */
export interface ApiProxy {
  readonly server: string;
  /** PEM. */
  readonly ca: string;
  readonly requests: readonly ProxiedRequest[];
  readonly close: () => Promise<void>;
}

/**
 * One identity for all proxies of a process: suites start hundreds of proxies, and creating keys costs more
 * than the requests.
 */
let identity: Promise<{ ca: string; pair: KeyPair }> | undefined;

async function createIdentity(): Promise<{ ca: string; pair: KeyPair }> {
  const authority = await createTestAuthority();
  return { ca: authority.ca, pair: await authority.server({ ip: '127.0.0.1' }) };
}

export async function startApiProxy({ access, decide, onAnswer }: ApiProxyOptions): Promise<ApiProxy> {
  const { ca, pair } = await (identity ??= createIdentity());
  const agent = new Agent({ keepAlive: true });
  const requests: ProxiedRequest[] = [];
  const note = ({ method = 'GET', url = '/' }: IncomingMessage): ProxiedRequest => {
    const request = { number: requests.length + 1, method, url };
    requests.push(request);
    return request;
  };
  const server = createServer({ cert: pair.certificate, key: pair.key }, (incoming, outgoing) => {
    const request = note(incoming);
    void (async () => {
      const fate = await decide(request);
      if (fate.kind === 'lost') incoming.socket.destroy();
      else if (fate.kind === 'answer') {
        incoming.resume();
        outgoing.writeHead(fate.status, { 'content-type': 'application/json', ...fate.headers });
        outgoing.end(fate.body);
      } else {
        if (fate.kind === 'late') await new Promise((resolve) => setTimeout(resolve, fate.milliseconds));
        pass({ incoming, outgoing, request, fate: fate.kind });
      }
    })();
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const request = note(incoming);
    void (async () => {
      const fate = await decide(request);
      if (fate.kind === 'pass') tunnel(access, incoming, socket, head);
      else if (fate.kind === 'answer') refuse(socket, fate);
      else socket.destroy();
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca,
    requests,
    close: async () => {
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  function pass(exchange: {
    incoming: IncomingMessage;
    outgoing: ServerResponse;
    request: ProxiedRequest;
    fate: Fate['kind'];
  }): void {
    const { incoming, outgoing, request, fate } = exchange;
    const { method, headers, url = '/' } = incoming;
    const further = httpsRequest(new URL(url, access.server), {
      ...{ method, headers: { ...headers, host: new URL(access.server).host }, agent },
      ...(access.ca === undefined ? {} : { ca: access.ca }),
    });
    further.on('response', (response) => {
      void (async () => {
        const status = response.statusCode ?? 502;
        await onAnswer?.(request, status);
        if (fate === 'unheard' || fate === 'silent') {
          response.resume();
          if (fate === 'unheard') outgoing.destroy();
          return;
        }
        outgoing.writeHead(status, response.headers);
        response.pipe(outgoing);
        response.on('error', () => outgoing.destroy());
      })();
    });
    further.on('error', () => outgoing.destroy());
    outgoing.on('close', () => further.destroy());
    incoming.pipe(further);
  }
}

/** Responds to a handshake with another status. */
function refuse(socket: Duplex, { status, headers, body }: Extract<Fate, { kind: 'answer' }>): void {
  const fields = {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status} Refused`, ...lines, 'connection: close', '', body].join('\r\n'));
}

/** Forwards a WebSocket's handshake and bytes unchanged. */
function tunnel(access: Access, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { hostname, port, host } = new URL(access.server);
  const further = connect({
    ...{ host: hostname, port: Number(port || 443), servername: '' },
    ...(access.ca === undefined ? {} : { ca: access.ca }),
  });
  further.on('secureConnect', () => {
    const lines = incoming.rawHeaders
      .flatMap((text, index, all) => (index % 2 === 0 ? [[text, all[index + 1] ?? '']] : []))
      .map(([name = '', value = '']) => `${name}: ${name.toLowerCase() === 'host' ? host : value}`);
    further.write(`GET ${incoming.url ?? '/'} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    further.write(head);
    further.pipe(socket);
    socket.pipe(further);
  });
  further.on('error', () => socket.destroy());
  socket.on('error', () => further.destroy());
  socket.on('close', () => further.destroy());
  further.on('close', () => socket.destroy());
}
