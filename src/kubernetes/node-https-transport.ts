import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
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

/** The transport for Node: node:https with one keep-alive agent. */
export class NodeHttpsTransport implements Transport {
  readonly #access: Access;
  readonly #address: string;
  readonly #agent: Agent;
  readonly #timeoutMs: number;

  constructor(access: Access, options: TransportOptions = {}) {
    this.#access = access;
    this.#address = serverAddress(access);
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    this.#agent = new Agent({
      keepAlive: true,
      keepAliveMsecs: 10_000,
      rejectUnauthorized: true,
      ...(access.ca !== undefined && { ca: access.ca }),
      ...(access.certificate !== undefined && { cert: access.certificate }),
      ...(access.key !== undefined && { key: access.key }),
      ...(access.tlsServerName !== undefined && { servername: access.tlsServerName }),
    });
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    const response = await this.#send(request, timeout);
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.#chunks(response, request, timeout)) {
      chunks.push(chunk);
    }
    return { ...head(response), body: Buffer.concat(chunks).toString('utf8') };
  }

  async stream(request: TransportRequest): Promise<TransportStream> {
    const headTimeout = new AbortController();
    const timer = setTimeout(() => {
      headTimeout.abort(new DOMException('no answer in time', 'TimeoutError'));
    }, this.#timeoutMs);
    try {
      const response = await this.#send(request, headTimeout.signal);
      return { ...head(response), chunks: this.#chunks(response, request, headTimeout.signal) };
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(request: TransportRequest, timeout: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const outgoing = httpsRequest(requestUrl(this.#access.server, request), {
      agent: this.#agent,
      method: request.method,
      headers: requestHeaders(this.#access, request),
      signal: request.signal === undefined ? timeout : AbortSignal.any([timeout, request.signal]),
    });
    outgoing.on('response', resolve);
    // also after the answer has begun: a broken connection is then reported by the response's own stream
    outgoing.on('error', (error) => {
      reject(this.#failure(error, request, timeout));
    });
    outgoing.end(request.body);
    return promise;
  }

  async *#chunks(
    response: IncomingMessage,
    request: TransportRequest,
    timeout: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    try {
      yield* response;
    } catch (error) {
      throw this.#failure(error, request, timeout);
    }
  }

  #failure(error: unknown, request: TransportRequest, timeout: AbortSignal): unknown {
    if (request.signal?.aborted === true) {
      return request.signal.reason;
    }
    return unreachable(this.#address, timeout.aborted ? timeout.reason : error);
  }
}

function head(response: IncomingMessage): { status: number; headers: Record<string, string> } {
  return { status: response.statusCode ?? 0, headers: flatHeaders(response.headers) };
}

function flatHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

function requestHeaders(access: Access, request: TransportRequest): Record<string, string> {
  const bearer = authorization(access);
  return {
    accept: 'application/json',
    ...(bearer !== undefined && { authorization: bearer }),
    ...(request.body !== undefined && {
      'content-type': request.contentType ?? 'application/json',
      'content-length': String(Buffer.byteLength(request.body)),
    }),
  };
}
