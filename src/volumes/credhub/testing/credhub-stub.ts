import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import type { KeyPair } from '../../../kubernetes/testing/certificates.ts';
import { createTestAuthority } from '../../../kubernetes/testing/certificates.ts';
import type { CredhubAccess } from '../credhub-client.ts';

export const uaaClient = { id: 'volume-broker', secret: 'geheim+des/clients' };

/**
 * A CredHub with its UAA, over TLS on a free loopback port. Fields that are not readonly may be changed while
 * it runs.
 */
export interface CredhubStub {
  readonly url: string;
  readonly ca: string;
  readonly access: CredhubAccess;
  readonly clientCertificate: KeyPair;
  readonly credentials: Map<string, unknown>;
  /** `METHOD path` of each request. */
  readonly requests: string[];
  /** Each response waits for this promise. `request` is METHOD, path and query. */
  before: (request: string) => Promise<unknown> | undefined;
  /** The lifetime of tokens in seconds. */
  tokenSeconds: number;
  /**
   * Returns a status to respond with instead, 'drop' to close the connection, or undefined for the normal
   * response.
   */
  fail: (request: string) => number | 'drop' | undefined;
  expireTokens(): void;
  stop(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
}

export async function credhubStub(): Promise<CredhubStub> {
  const authority = await createTestAuthority();
  const own = await authority.server({ ip: '127.0.0.1' });
  const tls = {
    cert: own.certificate,
    key: own.key,
    ca: authority.ca,
    requestCert: true,
    rejectUnauthorized: false,
  };
  const credentials = new Map<string, unknown>();
  const requests: string[] = [];
  const tokens = new Map<string, number>();
  let tokenCount = 0;
  const server = createServer(tls, (request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const url = new URL(request.url ?? '/', 'https://stub');
    const name = `${request.method} ${url.pathname}`;
    requests.push(name);
    await stub.before(`${name}${decodeURIComponent(url.search)}`);
    const failure = stub.fail(name);
    if (failure === 'drop') {
      request.socket.destroy();
      return;
    }
    const [status, value] = failure === undefined ? outcome(request, url, body) : [failure, { error: 'x' }];
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(value === undefined ? undefined : JSON.stringify(value));
  }

  function outcome(request: IncomingMessage, url: URL, body: string): [number, unknown?] {
    if (url.pathname === '/info') return [200, { 'auth-server': { url: `${stub.url}/uaa` } }];
    if (url.pathname === '/uaa/oauth/token') return tokenFor(request);
    if (url.pathname !== '/api/v1/data') return [404, {}];
    const token = /^Bearer (.+)$/u.exec(request.headers.authorization ?? '')?.[1];
    const isKnown = (tokens.get(token ?? '') ?? 0) > Date.now();
    if (!isKnown && !(request.socket as TLSSocket).authorized) return [401, { error: 'invalid_token' }];
    return data(request.method ?? '', url.searchParams, body);
  }

  function tokenFor({ headers }: IncomingMessage): [number, unknown] {
    const [id, secret] = Buffer.from(headers.authorization?.slice('Basic '.length) ?? '', 'base64')
      .toString()
      .split(':')
      .map(decodeURIComponent);
    if (id !== uaaClient.id || secret !== uaaClient.secret) return [401, { error: 'unauthorized' }];
    tokenCount += 1;
    tokens.set(`token-${tokenCount}`, Date.now() + stub.tokenSeconds * 1000);
    return [
      200,
      { access_token: `token-${tokenCount}`, token_type: 'bearer', expires_in: stub.tokenSeconds },
    ];
  }

  function data(method: string, query: URLSearchParams, body: string): [number, unknown?] {
    const name = query.get('name') ?? '';
    const path = query.get('path');
    if (method === 'PUT') {
      const put = JSON.parse(body) as { name: string; type: string; value: unknown };
      if (!/^[\w/.:()[\]-]{1,255}$/u.test(put.name) || put.type !== 'json') return [400, { error: 'name' }];
      credentials.set(put.name, put.value);
      return [200, put];
    }
    if (method === 'DELETE') return credentials.delete(name) ? [204] : [404, {}];
    if (path !== null) {
      const names = [...credentials.keys()].filter((each) => each.startsWith(`${path}/`));
      return [200, { credentials: names.map((each) => ({ name: each })) }];
    }
    const value = credentials.get(name);
    return value === undefined ? [404, { error: 'none' }] : [200, { data: [{ name, type: 'json', value }] }];
  }

  let port = 0;
  const start = (): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
  await start();
  ({ port } = server.address() as AddressInfo);
  const url = `https://127.0.0.1:${port}`;
  const stub: CredhubStub = {
    url,
    ca: authority.ca,
    access: { url, ca: authority.ca, auth: { uaa: { ...uaaClient, url: undefined, ca: authority.ca } } },
    clientCertificate: await authority.client('volume-broker'),
    credentials,
    requests,
    before: () => undefined,
    tokenSeconds: 3600,
    fail: () => undefined,
    expireTokens: () => tokens.clear(),
    start,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return stub;
}
