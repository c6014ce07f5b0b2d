import { Agent } from 'node:https';
import { ProductError } from '../../errors/product-error.ts';
import { isObject, type JsonObject, parseJsonObject } from '../../platform/json.ts';
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

const defaultTimeoutMs = 15_000;
const connections = 64;

/**
 * Reads and writes credentials of type json in a CredHub, by its API v1. All requests are idempotent, so each
 * of them is retried until a deadline. Permanent failures reject with STORE_UNAVAILABLE.
 */
export class CredhubClient {
  readonly #root: string;
  readonly #agent: Agent;
  readonly #tokens: TokenSource | undefined;

  constructor({ url, ca, auth }: CredhubAccess) {
    this.#root = url.replace(/\/+$/u, '');
    const certificate = 'uaa' in auth ? {} : { cert: auth.certificate, key: auth.key };
    this.#agent = createAgent(ca, certificate);
    this.#tokens =
      'uaa' in auth ? new TokenSource(auth.uaa, (deadlineMs) => this.#findUaa(deadlineMs)) : undefined;
  }

  /** Returns the current value, or undefined if there is none or if the client may not read it. */
  async get(name: string, deadlineMs?: number): Promise<unknown> {
    const query = `?current=true&name=${encodeURIComponent(name)}`;
    const response = await this.#call({ method: 'GET' }, query, deadlineMs);
    if (response.status === 404) return undefined;
    const [first] = this.#parseList(response, 'data');
    return first?.['value'];
  }

  async put(name: string, value: object): Promise<void> {
    const body = JSON.stringify({ name, type: 'json', value });
    const { status } = await this.#call({ method: 'PUT', body }, '');
    if (status === 404) throw this.#unavailable(`the client may not write ${name}`);
  }

  async delete(name: string): Promise<void> {
    await this.#call({ method: 'DELETE' }, `?name=${encodeURIComponent(name)}`);
  }

  /** Returns the names of the credentials below a path. */
  async list(path: string): Promise<string[]> {
    const response = await this.#call({ method: 'GET' }, `?path=${encodeURIComponent(path)}`);
    if (response.status === 404) return [];
    const names = this.#parseList(response, 'credentials').map(({ name }) => String(name));
    // CredHub treats an underscore in the path as a wildcard for one character
    return names.filter((name) => name.startsWith(`${path}/`));
  }

  close(): void {
    this.#agent.destroy();
    this.#tokens?.close();
  }

  /** Sends a request with retries. Returns a response of success or 404, and rejects for all others. */
  async #call(
    request: Pick<HttpsRequest, 'method' | 'body'>,
    query: string,
    deadlineMs = defaultTimeoutMs,
  ): Promise<HttpsResponse> {
    let response: HttpsResponse;
    try {
      response = await this.#sendWithToken(request, query, deadlineMs);
    } catch (error) {
      throw this.#unavailable(error instanceof Error ? error.message : String(error), error);
    }
    const { status } = response;
    if ((status >= 200 && status < 300) || status === 404) return response;
    const isRefused = status === 401 || status === 403;
    const reason = isRefused ? `it rejected the client (${status})` : `status ${status}`;
    throw this.#unavailable(`${request.method} /api/v1/data: ${reason}`);
  }

  /** Sends a request. If its token is rejected, sends it once more with a new token. */
  async #sendWithToken(
    request: Pick<HttpsRequest, 'method' | 'body'>,
    query: string,
    deadlineMs: number,
  ): Promise<HttpsResponse> {
    const end = performance.now() + deadlineMs;
    for (let rejections = 0; ; rejections += 1) {
      const remaining = Math.max(0, end - performance.now());
      const token = await this.#tokens?.get(remaining);
      const headers = {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      };
      const url = `${this.#root}/api/v1/data${query}`;
      const response = await requestWithRetry({ ...request, agent: this.#agent, url, headers }, remaining);
      if (response.status !== 401 || token === undefined || rejections > 0) return response;
      this.#tokens?.invalidate(token);
    }
  }

  /** Returns the URL of the UAA that issues tokens for CredHub, from its /info. */
  async #findUaa(deadlineMs: number): Promise<string> {
    const request = { agent: this.#agent, method: 'GET', url: `${this.#root}/info` } as const;
    const response = await requestWithRetry(request, deadlineMs);
    const server = response.status === 200 ? objectIn(response)['auth-server'] : undefined;
    const url = isObject(server) ? server['url'] : undefined;
    if (typeof url !== 'string' || !url.startsWith('https://'))
      throw new Error(`/info names no UAA (status ${response.status}); set the url of the uaa`);
    return url;
  }

  #parseList(response: HttpsResponse, field: string): JsonObject[] {
    const list = objectIn(response)[field];
    if (!Array.isArray(list)) throw this.#unavailable('its response is not one of CredHub; check the url');
    return list as JsonObject[];
  }

  #unavailable(reason: string, cause?: unknown): ProductError {
    const message = `the CredHub at ${this.#root} cannot be read or written: ${reason}; check CredHub, its UAA, the permissions of the client and the network between them`;
    return new ProductError('STORE_UNAVAILABLE', message, { cause });
  }
}

function createAgent(ca: string | undefined, certificate: { cert?: string; key?: string } = {}): Agent {
  return new Agent({
    keepAlive: true,
    maxSockets: connections,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
    ...certificate,
  });
}

/** Returns the object in a response, or an empty one if the body is not an object. */
const objectIn = ({ text }: HttpsResponse): JsonObject => parseJsonObject(text) ?? {};

/** The credentials of a UAA client. */
export interface UaaClient {
  readonly id: string;
  readonly secret: string;
}

/** How long before its expiry a token is fetched again. */
const refreshBeforeExpiryMs = 30_000;

/** Tokens by UAA's client credentials grant. Concurrent callers share one request. */
class TokenSource {
  readonly #client: UaaClient;
  readonly #agent: Agent;
  readonly #findUaa: (deadlineMs: number) => Promise<string>;
  #url: string | undefined;
  #current: { readonly token: string; readonly endsAt: number } | undefined;
  #fetching: Promise<string> | undefined;

  /** `findUaa` returns the URL of the UAA if the settings do not have it. */
  constructor(
    uaa: UaaClient & { readonly url: string | undefined; readonly ca: string | undefined },
    findUaa: (deadlineMs: number) => Promise<string>,
  ) {
    this.#client = uaa;
    this.#url = uaa.url;
    this.#agent = createAgent(uaa.ca);
    this.#findUaa = findUaa;
  }

  /** Returns a valid token. Fetches one if there is none. */
  async get(deadlineMs: number): Promise<string> {
    this.#url ??= await this.#findUaa(deadlineMs);
    if (this.#current !== undefined && performance.now() < this.#current.endsAt) return this.#current.token;
    this.#fetching ??= this.#fetch(this.#url, deadlineMs).finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  /** Discards a token that its server has rejected. */
  invalidate(token: string): void {
    if (this.#current?.token === token) this.#current = undefined;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #fetch(url: string, deadlineMs: number): Promise<string> {
    const { id, secret } = this.#client;
    const credentials = [id, secret].map(encodeURIComponent).join(':');
    const requestedAt = performance.now();
    const response = await requestWithRetry(
      {
        agent: this.#agent,
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
    const { status } = response;
    const { access_token: token, expires_in: seconds } = status === 200 ? objectIn(response) : {};
    if (typeof token !== 'string' || typeof seconds !== 'number')
      throw new Error(`the UAA at ${url} returned no token for client ${id}: status ${status}`);
    const lifeMs = seconds * 1000;
    this.#current = { token, endsAt: requestedAt + lifeMs - Math.min(refreshBeforeExpiryMs, lifeMs / 2) };
    return token;
  }
}
