import { isProductError } from '../../errors/product-error.ts';
import {
  type Access,
  credentialsOf,
  identityHeadersInBun,
  serverAddress,
  type Credentials,
} from '../access/access.ts';
import { checkKeyPair } from '../access/pem.ts';
import {
  answerTooLong,
  maxResponseBytes,
  unreachableError,
  type Transport,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
  type TransportStream,
  defaultTimeoutMs,
  requestUrl,
} from './transport.ts';

/**
 * The fetch options that only Bun has. Node's fetch has no such options, so this transport is only for Bun.
 */
interface BunInit extends RequestInit {
  readonly tls: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly serverName?: string;
    readonly rejectUnauthorized: true;
  };
  /** False: no proxy, not even that of the environment. */
  readonly proxy: string | false;
  readonly decompress: false;
}

/** The transport for Bun: its `fetch`, which keeps connections alive itself, one per client certificate. */
export class FetchTransport implements Transport {
  readonly #access: Access;
  readonly #address: string;
  readonly #timeoutMs: number;
  readonly #closed = new AbortController();
  /** The credentials of the latest request. */
  #credentials: Credentials = {};

  constructor(access: Access, options: TransportOptions = {}) {
    this.#access = access;
    this.#address = serverAddress(access);
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    try {
      const response = await this.#fetch(request, timeout);
      return { ...head(response), body: await this.#text(response, request, timeout) };
    } catch (error) {
      throw this.#failure(error, request, timeout);
    }
  }

  async stream(request: TransportRequest): Promise<TransportStream> {
    const headTimeout = new AbortController();
    const timer = setTimeout(() => {
      headTimeout.abort(new DOMException('no answer in time', 'TimeoutError'));
    }, this.#timeoutMs);
    try {
      const response = await this.#fetch(request, headTimeout.signal);
      return { ...head(response), chunks: this.#chunks(response, request, headTimeout.signal) };
    } catch (error) {
      throw this.#failure(error, request, headTimeout.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#closed.abort(new DOMException('the transport was closed', 'AbortError'));
  }

  async #fetch(request: TransportRequest, timeout: AbortSignal): Promise<Response> {
    const credentials = await credentialsOf(this.#access);
    this.#credentials = credentials;
    const signals = [timeout, this.#closed.signal, ...(request.signal === undefined ? [] : [request.signal])];
    const init: BunInit = {
      method: request.method,
      redirect: 'manual',
      // a small response must not expand into a large one
      decompress: false,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...identityHeadersInBun(this.#access, credentials),
        ...(request.body !== undefined && { 'content-type': request.contentType ?? 'application/json' }),
      },
      signal: AbortSignal.any(signals),
      ...connection(this.#access, credentials),
      ...(request.body !== undefined && { body: request.body }),
    };
    return fetch(requestUrl(this.#access.server, request), init);
  }

  async #text(response: Response, request: TransportRequest, timeout: AbortSignal): Promise<string> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of this.#chunks(response, request, timeout)) {
      length += chunk.length;
      if (length > maxResponseBytes) throw answerTooLong(this.#address);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  async *#chunks(
    response: Response,
    request: TransportRequest,
    timeout: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    if (response.body === null) {
      return;
    }
    try {
      yield* response.body;
    } catch (error) {
      throw this.#failure(error, request, timeout);
    }
  }

  #failure(error: unknown, request: TransportRequest, timeout: AbortSignal): unknown {
    if (isProductError(error)) {
      return error;
    }
    if (request.signal?.aborted === true) {
      return request.signal.reason;
    }
    if (timeout.aborted) return unreachableError(this.#address, timeout.reason);
    return (isUnopened(error) && checkKeyPair(this.#credentials)) || unreachableError(this.#address, error);
  }
}

/**
 * True for the error with which Bun reports an unusable client certificate. It reports an unreachable server
 * with other codes.
 */
const isUnopened = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'FailedToOpenSocket';

function head(response: Response): { status: number; headers: Record<string, string> } {
  return { status: response.status, headers: Object.fromEntries(response.headers) };
}

function connection(access: Access, { certificate, key }: Credentials): Pick<BunInit, 'tls' | 'proxy'> {
  return {
    tls: {
      rejectUnauthorized: true,
      ...(access.ca !== undefined && { ca: access.ca }),
      ...(certificate !== undefined && { cert: certificate }),
      ...(key !== undefined && { key }),
      ...(access.tlsServerName !== undefined && { serverName: access.tlsServerName }),
    },
    proxy: access.proxy ?? false,
  };
}
