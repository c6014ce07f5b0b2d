import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest, type AgentOptions } from 'node:https';
import {
  type Access,
  credentialsOf,
  identityHeaders,
  serverAddress,
  type Credentials,
  type Headers,
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

/** The transport for Node: node:https with one keep-alive agent. */
export class NodeHttpsTransport implements Transport {
  readonly #access: Access;
  readonly #address: string;
  readonly #timeoutMs: number;
  #agent: Agent | undefined;
  #certificate: string | undefined;
  readonly #closed = new AbortController();

  constructor(access: Access, options: TransportOptions = {}) {
    this.#access = access;
    this.#address = serverAddress(access);
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    const response = await this.#send(request, timeout);
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of this.#chunks(response, request, timeout)) {
      length += chunk.length;
      if (length > maxResponseBytes) throw answerTooLong(this.#address);
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
    this.#closed.abort(new DOMException('the transport was closed', 'AbortError'));
    this.#agent?.destroy();
  }

  async #send(request: TransportRequest, timeout: AbortSignal): Promise<IncomingMessage> {
    const credentials = await credentialsOf(this.#access);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const signals = [timeout, this.#closed.signal, ...(request.signal === undefined ? [] : [request.signal])];
    const outgoing = httpsRequest(requestUrl(this.#access.server, request), {
      agent: this.#agentFor(credentials),
      method: request.method,
      headers: requestHeaders(identityHeaders(this.#access, credentials), request),
      signal: AbortSignal.any(signals),
    });
    outgoing.on('response', resolve);
    // also after the response has begun: the stream of the response then reports a broken connection
    outgoing.on('error', (error) => {
      reject(this.#failure(error, request, timeout));
    });
    outgoing.end(request.body);
    return promise;
  }

  /** Returns the agent, which is reused as long as the client certificate stays the same. */
  #agentFor({ certificate, key }: Credentials): Agent {
    if (this.#agent === undefined || certificate !== this.#certificate) {
      const problem = checkKeyPair({ certificate, key });
      if (problem !== undefined) throw problem;
      this.#agent?.destroy();
      this.#certificate = certificate;
      this.#agent = new Agent({
        keepAlive: true,
        keepAliveMsecs: 10_000,
        ...nodeTls(this.#access, { certificate, key }),
      });
    }
    return this.#agent;
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
    return unreachableError(this.#address, timeout.aborted ? timeout.reason : error);
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

function requestHeaders(identity: Headers, request: TransportRequest): Headers {
  return {
    accept: 'application/json',
    ...identity,
    ...(request.body !== undefined && {
      'content-type': request.contentType ?? 'application/json',
      'content-length': String(Buffer.byteLength(request.body)),
    }),
  };
}

export type NodeTls = Pick<
  AgentOptions,
  'rejectUnauthorized' | 'ca' | 'cert' | 'key' | 'servername' | 'proxyEnv'
>;

/**
 * Returns Node's options for a connection to the server: TLS, always verified, and the proxy if there is one.
 */
export function nodeTls(access: Access, { certificate, key }: Credentials): NodeTls {
  return {
    rejectUnauthorized: true,
    ...(access.ca !== undefined && { ca: access.ca }),
    ...(certificate !== undefined && { cert: certificate }),
    ...(key !== undefined && { key }),
    ...(access.tlsServerName !== undefined && { servername: access.tlsServerName }),
    ...(access.proxy !== undefined && { proxyEnv: { HTTPS_PROXY: access.proxy } }),
  };
}
