import { Agent } from 'node:https';
import { ProductError } from '../../errors/product-error.ts';
import type { JsonObject } from '../../platform/fields.ts';
import { parseJsonObject } from '../../platform/json.ts';
import { type HttpsRequest, type HttpsResponse, requestWithRetry } from './http-json.ts';

/**
 * The connection settings of a CredHub. Certificates and keys are PEM. Without a CA, the system's CAs are
 * trusted.
 */
export interface CredhubAccess {
  readonly url: string;
  readonly ca: string | undefined;
  readonly auth:
    | { readonly uaa: UaaClient & { readonly url: string | undefined; readonly ca: string | undefined } }
    | { readonly certificate: string; readonly key: string };
}

/**
 * Reads and writes credentials of type json in a CredHub. Permanent failures reject with STORE_UNAVAILABLE.
 */
export interface CredhubClient {
  /** Returns the current value, or undefined if there is none or if the client may not read it. */
  get(name: string, deadlineMs?: number): Promise<unknown>;
  put(name: string, value: object): Promise<void>;
  delete(name: string): Promise<void>;
  /** Returns the names of the credentials below a path. */
  list(path: string): Promise<string[]>;
  close(): void;
}

const defaultTimeoutMs = 15_000;
const connections = 64;

/**
 * Returns a client of CredHub's API v1. All its requests are idempotent, so it retries each of them until a
 * deadline.
 */
export function credhubClient(access: CredhubAccess): CredhubClient {
  const { auth } = access;
  const root = access.url.replace(/\/+$/u, '');
  const createAgent = (ca: string | undefined, own: { cert?: string; key?: string } = {}): Agent =>
    new Agent({
      keepAlive: true,
      maxSockets: connections,
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      ...(ca === undefined ? {} : { ca }),
      ...own,
    });
  const agent = createAgent(access.ca, 'uaa' in auth ? {} : { cert: auth.certificate, key: auth.key });
  const uaaAgent = 'uaa' in auth ? createAgent(auth.uaa.ca) : undefined;
  const tokens: TokenSource | undefined =
    'uaa' in auth && uaaAgent !== undefined ? createTokenSource(auth.uaa, uaaAgent) : undefined;
  let uaaUrl = 'uaa' in auth ? auth.uaa.url : undefined;

  async function tokenWithin(deadlineMs: number): Promise<string | undefined> {
    if (tokens === undefined) return undefined;
    uaaUrl ??= parseAuthServer(
      await requestWithRetry({ agent, method: 'GET', url: `${root}/info` }, deadlineMs),
    );
    return tokens.get(uaaUrl, deadlineMs);
  }

  async function send(
    request: Pick<HttpsRequest, 'method' | 'body'>,
    query: string,
    deadlineMs: number,
  ): Promise<HttpsResponse> {
    const end = performance.now() + deadlineMs;
    for (let refused = 0; ; refused += 1) {
      const left = Math.max(0, end - performance.now());
      const token = await tokenWithin(left);
      const headers = {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      };
      const reply = await requestWithRetry(
        { ...request, agent, url: `${root}/api/v1/data${query}`, headers },
        left,
      );
      if (reply.status !== 401 || token === undefined || refused > 0) return reply;
      tokens?.invalidate(token);
    }
  }

  async function call(
    request: Pick<HttpsRequest, 'method' | 'body'>,
    query: string,
    deadlineMs = defaultTimeoutMs,
  ): Promise<HttpsResponse> {
    let reply: HttpsResponse;
    try {
      reply = await send(request, query, deadlineMs);
    } catch (error) {
      throw unavailable(root, error instanceof Error ? error.message : String(error), error);
    }
    const { status } = reply;
    if ((status >= 200 && status < 300) || status === 404) return reply;
    const said = status === 401 || status === 403 ? `it refuses the client (${status})` : `status ${status}`;
    throw unavailable(root, `${request.method} /api/v1/data: ${said}`);
  }

  return {
    get: async (name, deadlineMs) => {
      const query = `?current=true&name=${encodeURIComponent(name)}`;
      const reply = await call({ method: 'GET' }, query, deadlineMs);
      if (reply.status === 404) return undefined;
      const [first] = parseNames(root, reply, 'data');
      return first?.['value'];
    },
    put: async (name, value) => {
      const body = JSON.stringify({ name, type: 'json', value });
      const { status } = await call({ method: 'PUT', body }, '');
      if (status === 404) throw unavailable(root, `the client may not write ${name}`);
    },
    delete: async (name) => {
      await call({ method: 'DELETE' }, `?name=${encodeURIComponent(name)}`);
    },
    list: async (path) => {
      const reply = await call({ method: 'GET' }, `?path=${encodeURIComponent(path)}`);
      if (reply.status === 404) return [];
      const names = parseNames(root, reply, 'credentials').map(({ name }) => String(name));
      // CredHub treats an underscore in the path as a wildcard for one character
      return names.filter((name) => name.startsWith(`${path}/`));
    },
    close: () => {
      agent.destroy();
      uaaAgent?.destroy();
    },
  };
}

function unavailable(root: string, cause: string, error?: unknown): ProductError {
  const message = `the CredHub at ${root} cannot be read or written: ${cause}; look after CredHub, its UAA, the client's permissions and the way to them`;
  return new ProductError('STORE_UNAVAILABLE', message, { cause: error });
}

/** Returns the URL of the UAA that issues tokens for CredHub, from its /info. */
function parseAuthServer(reply: HttpsResponse): string {
  const server = reply.status === 200 ? objectIn(reply)['auth-server'] : undefined;
  const url = (server as { url?: unknown } | undefined)?.url;
  if (typeof url !== 'string' || !url.startsWith('https://'))
    throw new Error(`/info names no UAA (status ${reply.status}); set the url of the uaa`);
  return url;
}

/** Returns the object in a response, or an empty one if the body is not an object. */
const objectIn = ({ text }: HttpsResponse): JsonObject => parseJsonObject(text) ?? {};

function parseNames(root: string, reply: HttpsResponse, field: string): Record<string, unknown>[] {
  const list = objectIn(reply)[field];
  if (!Array.isArray(list)) throw unavailable(root, 'its answer is none of CredHub; check the url');
  return list as Record<string, unknown>[];
}

/** The credentials of a UAA client. */
export interface UaaClient {
  readonly id: string;
  readonly secret: string;
}

interface TokenSource {
  /** Returns a valid token. Fetches one from the UAA at `url` if there is none. */
  get(url: string, deadlineMs: number): Promise<string>;
  /** Discards a token that its server has rejected. */
  invalidate(token: string): void;
}

/** How long before its expiry a token is fetched again. */
const refreshBeforeExpiryMs = 30_000;

/** Returns a source of tokens with UAA's client credentials grant. Concurrent callers share one request. */
function createTokenSource(client: UaaClient, agent: Agent): TokenSource {
  let current: { readonly token: string; readonly endsAt: number } | undefined;
  let fetching: Promise<string> | undefined;

  async function fetchToken(url: string, deadlineMs: number): Promise<string> {
    const credentials = [client.id, client.secret].map(encodeURIComponent).join(':');
    const asked = performance.now();
    const reply = await requestWithRetry(
      {
        agent,
        method: 'POST',
        url: `${url.replace(/\/+$/u, '')}/oauth/token`,
        headers: {
          authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
        },
        body: 'grant_type=client_credentials&response_type=token',
      },
      deadlineMs,
    );
    const { status } = reply;
    const { access_token: token, expires_in: seconds } = status === 200 ? objectIn(reply) : {};
    if (typeof token !== 'string' || typeof seconds !== 'number')
      throw new Error(`the UAA at ${url} gives no token to client ${client.id}: status ${status}`);
    const lifeMs = seconds * 1000;
    current = { token, endsAt: asked + lifeMs - Math.min(refreshBeforeExpiryMs, lifeMs / 2) };
    return token;
  }

  return {
    get: async (url, deadlineMs) => {
      if (current !== undefined && performance.now() < current.endsAt) return current.token;
      fetching ??= fetchToken(url, deadlineMs).finally(() => {
        fetching = undefined;
      });
      return fetching;
    },
    invalidate: (token) => {
      if (current?.token === token) current = undefined;
    },
  };
}
