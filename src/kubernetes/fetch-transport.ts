import { isProductError } from '../errors/product-error.ts';
import type { Access } from './access.ts';
import { authorization, serverAddress } from './access.ts';
import { unreachable } from './transport-failure.ts';
import type {
  Transport,
  TransportOptions,
  TransportRequest,
  TransportResponse,
  TransportStream,
} from './transport.ts';
import { defaultTimeoutMs, requestUrl } from './transport.ts';

/** Bun's own fetch option; Node's fetch has nothing like it, so this transport is for Bun alone. */
interface BunTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
  readonly rejectUnauthorized: true;
}

/** The transport for Bun: its `fetch`, which keeps connections alive by itself. */
export class FetchTransport implements Transport {
  readonly #access: Access;
  readonly #address: string;
  readonly #timeoutMs: number;
  readonly #tls: BunTls;
  readonly #closed = new AbortController();

  constructor(access: Access, options: TransportOptions = {}) {
    this.#access = access;
    this.#address = serverAddress(access);
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    this.#tls = {
      rejectUnauthorized: true,
      ...(access.ca !== undefined && { ca: access.ca }),
      ...(access.certificate !== undefined && { cert: access.certificate }),
      ...(access.key !== undefined && { key: access.key }),
      ...(access.tlsServerName !== undefined && { serverName: access.tlsServerName }),
    };
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    try {
      const response = await this.#fetch(request, timeout);
      return { ...head(response), body: await response.text() };
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

  #fetch(request: TransportRequest, timeout: AbortSignal): Promise<Response> {
    const bearer = authorization(this.#access);
    const signals = [timeout, this.#closed.signal, ...(request.signal === undefined ? [] : [request.signal])];
    const init: RequestInit & { tls: BunTls } = {
      method: request.method,
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        ...(bearer !== undefined && { authorization: bearer }),
        ...(request.body !== undefined && { 'content-type': request.contentType ?? 'application/json' }),
      },
      signal: AbortSignal.any(signals),
      tls: this.#tls,
      ...(request.body !== undefined && { body: request.body }),
    };
    return fetch(requestUrl(this.#access.server, request), init);
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
    return unreachable(this.#address, timeout.aborted ? timeout.reason : error);
  }
}

function head(response: Response): { status: number; headers: Record<string, string> } {
  return { status: response.status, headers: Object.fromEntries(response.headers) };
}
