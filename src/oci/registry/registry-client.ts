import type { ProductError } from '../../errors/product-error.ts';
import { Authenticator, type RegistryCredentials } from './access/authenticator.ts';
import {
  type RegistryAnswer,
  type RegistryRequest,
  type SentBody,
  ConnectionFailure,
} from './http/registry-transport.ts';
import { type RetryOptions, RetryPolicy, unreachableError } from './http/retry.ts';
import { registryError } from './registry-error.ts';
import { isAtLeastAsSecure } from '../image-reference.ts';

export interface RegistryClientOptions extends RetryOptions {
  /** `https://host:port` (parseRegistryUrl). */
  readonly origin: string;
  readonly repository: string;
  readonly credentials: RegistryCredentials | undefined;
  /**
   * Makes a client for cleanup requests, which also works after the caller's signal; absent: this client
   * sends them.
   */
  readonly cleanupClient?: () => RegistryClient;
}

/** A request to the registry. `path` is below /v2/<repository>, or a URL that the registry returned. */
export interface RepositoryRequest {
  readonly method: RegistryRequest['method'];
  readonly path: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: SentBody;
  /** See RegistryRequest. */
  readonly isFinished?: boolean;
  /** The actions of the requested right; default: pull and push. */
  readonly actions?: 'pull' | 'pull,push' | 'pull,delete';
  /** Another repository that is read, for a mount. */
  readonly from?: string;
  /** The operation as error messages name it: `upload of sha256:…`. */
  readonly operation: string;
}

/**
 * One repository of one registry (OCI distribution-spec 1.1): authenticates, retries, and explains errors.
 */
export class RegistryClient {
  readonly repository: string;
  readonly host: string;
  readonly retries: RetryPolicy;
  readonly #origin: string;
  readonly #authenticator: Authenticator;
  readonly #cleanupClient: (() => RegistryClient) | undefined;

  constructor({ origin, repository, credentials, cleanupClient, ...retry }: RegistryClientOptions) {
    this.#cleanupClient = cleanupClient;
    this.repository = repository;
    this.host = new URL(origin).host;
    this.retries = new RetryPolicy(retry);
    this.#origin = origin;
    this.#authenticator = new Authenticator({ origin, credentials, retries: this.retries });
  }

  /**
   * Sends a request that may be sent twice and returns its response, whatever its status. Rejects with
   * REGISTRY_UNREACHABLE or REGISTRY_UNAUTHORIZED.
   */
  async request(request: RepositoryRequest): Promise<RegistryAnswer> {
    return this.#followed(request, (sent) => {
      const { host } = sent.url;
      const way = host === this.host ? '' : `${host}, to which requests are redirected by `;
      return this.retries.send(sent, `${way}the registry ${this.host}`);
    });
  }

  /**
   * Sends a request once, if it must not be sent twice blindly. A broken connection is returned, not thrown.
   */
  async requestOnce(request: RepositoryRequest): Promise<RegistryAnswer | ConnectionFailure> {
    return this.#followed(request, async (sent) => {
      const answer = await this.retries.sendOnce(sent);
      const { host } = sent.url;
      if (!(answer instanceof ConnectionFailure) || host === this.host) return answer;
      const { message, isFinal, cause } = answer;
      return new ConnectionFailure(`it redirects the request to ${host}: ${message}`, { isFinal, cause });
    });
  }

  /** Like requestOnce, but also works after the signal that ends all other requests. */
  async requestForCleanup(request: RepositoryRequest): Promise<RegistryAnswer | ConnectionFailure> {
    const last = this.#cleanupClient?.();
    if (last === undefined) return this.requestOnce(request);
    try {
      return await last.requestOnce(request);
    } finally {
      last.close();
    }
  }

  /**
   * Returns the URL in a response's Location. Throws REGISTRY_ERROR if it is less secure than the registry.
   */
  location(answer: RegistryAnswer, request: RepositoryRequest): URL {
    const text = answer.headers['location'];
    const base = this.#url(request);
    if (text === undefined || !URL.canParse(text, base.href))
      throw this.error(answer, request.operation, 'its response has no valid Location');
    const url = new URL(text, base);
    if (!isAtLeastAsSecure(base, url))
      throw this.error(
        answer,
        request.operation,
        base.protocol === 'https:'
          ? `its Location is not https: ${url.origin}; the proxy in front of the registry must send X-Forwarded-Proto`
          : `its Location is plain http on another host, ${url.host}`,
      );
    return url;
  }

  /** Returns the error for an unexpected response. It never quotes a URL's query or the credentials. */
  error(answer: RegistryAnswer, operation: string, note?: string): ProductError {
    const location = `registry ${this.host}, repository ${this.repository}: ${operation}`;
    const redact = (text: string): string => this.#authenticator.redact(text);
    const notes = [...originNotes(answer), note].filter((text) => text !== undefined);
    return registryError(answer, location, { note: notes.length > 0 ? notes.join('; ') : undefined, redact });
  }

  unreachable(failure: ConnectionFailure, operation: string, tries: number): ProductError {
    return unreachableError(`the registry ${this.host} (${operation})`, failure, tries);
  }

  close(): void {
    this.retries.close();
  }

  /**
   * Follows the redirects of a request, by the rules of `location`. Only 307 and 308 keep method and body
   * (RFC 9110, 15.4): any other redirect is returned as the response. A redirect of HEAD means that the
   * registry has the blob in another storage, unless it leads to the same path, in a registry that has moved.
   */
  async #followed<T extends RegistryAnswer | ConnectionFailure>(
    request: RepositoryRequest,
    send: (request: RegistryRequest) => Promise<T>,
  ): Promise<T | RegistryAnswer> {
    let at = request;
    for (let redirects = 0; ; redirects += 1) {
      const answer = await this.#authorized(at, send);
      if (answer instanceof ConnectionFailure) return answer;
      const from = this.#url(at);
      if (!keepsMethod(answer.status) || (request.method === 'HEAD' && !leadsToPath(answer, from)))
        return redirects === 0 ? answer : withLocationFrom(answer, from);
      if (redirects === maxRedirects)
        throw this.error(
          answer,
          request.operation,
          `it redirects the request more than ${maxRedirects} times`,
        );
      at = { ...at, path: this.location(answer, at) };
    }
  }

  /** Sends the request with the known authorization, and once more with the one that a challenge requests. */
  async #authorized<T extends RegistryAnswer | ConnectionFailure>(
    request: RepositoryRequest,
    send: (request: RegistryRequest) => Promise<T>,
  ): Promise<T | RegistryAnswer> {
    const scopes = [
      `repository:${this.repository}:${request.actions ?? 'pull,push'}`,
      ...(request.from === undefined ? [] : [`repository:${request.from}:pull`]),
    ];
    const first = await send(this.#request(request, scopes));
    if (first instanceof ConnectionFailure) return first;
    const url = this.#url(request);
    if (!this.#isSameOrigin(url)) {
      const answer: RegistryAnswer = first;
      const other = { ...answer, sentBy: url.host };
      if (other.status === 401) throw this.error(other, request.operation);
      return other;
    }
    if (first.status !== 401) return first;
    await this.#authenticator.authenticate(first, scopes);
    const second = await send(this.#request(request, scopes));
    if (!(second instanceof ConnectionFailure) && second.status === 401)
      throw this.error(second, request.operation);
    return second;
  }

  #request(request: RepositoryRequest, scopes: readonly string[]): RegistryRequest {
    const url = this.#url(request);
    // Upload locations may be on another host, which signs its URLs and must not get the registry's
    // credentials.
    const authorization = this.#isSameOrigin(url) ? this.#authenticator.authorization(scopes) : undefined;
    return {
      method: request.method,
      url,
      headers: {
        'user-agent': 'bosh-kubernetes',
        ...request.headers,
        ...(authorization !== undefined && { authorization }),
      },
      ...(request.body !== undefined && { body: request.body }),
      ...(request.isFinished !== undefined && { isFinished: request.isFinished }),
    };
  }

  #url({ path }: RepositoryRequest): URL {
    return typeof path === 'string' ? new URL(`/v2/${this.repository}/${path}`, this.#origin) : path;
  }

  #isSameOrigin(url: URL): boolean {
    return url.origin === new URL(this.#origin).origin;
  }
}

/** A legitimate chain of redirects is not longer; a circle ends there. */
const maxRedirects = 5;

const keepsMethod = (status: number): boolean => status === 307 || status === 308;

const leadsToPath = ({ headers }: RegistryAnswer, from: URL): boolean =>
  URL.canParse(headers['location'] ?? '', from.href) &&
  new URL(headers['location'] ?? '', from).pathname === from.pathname;

/** Returns the response with an absolute Location, which does not depend on the request's URL. */
function withLocationFrom(answer: RegistryAnswer, from: URL): RegistryAnswer {
  const { location } = answer.headers;
  if (location === undefined || !URL.canParse(location, from.href)) return answer;
  return { ...answer, headers: { ...answer.headers, location: new URL(location, from).href } };
}

/**
 * Returns which server sent the response, if it is not the registry, and the host of a redirect. It contains
 * no path or query, which may be signed.
 */
function originNotes({ status, headers, sentBy }: RegistryAnswer): readonly string[] {
  const remedy = status === 401 ? ' but no password; use the address of that registry' : '';
  const from =
    sentBy === undefined
      ? []
      : [`the response is from ${sentBy}, to which the registry redirects the request${remedy}`];
  const { location = '' } = headers;
  if (status < 300 || status >= 400 || !URL.canParse(location)) return from;
  const { origin } = new URL(location);
  const next = keepsMethod(status)
    ? []
    : ['only redirects with 307 and 308 are followed; use the address of that registry'];
  return [...from, [`it redirects to ${origin}`, ...next].join(', and ')];
}
