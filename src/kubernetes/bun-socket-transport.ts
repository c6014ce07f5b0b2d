import type { Access } from './access.ts';
import { credentialsOf, identityHeadersInBun, serverAddress } from './access.ts';
import { BunConnection } from './bun/bun-connection.ts';
import type { BunRuntime } from './bun/bun-runtime.ts';
import { ByteQueue } from './bun/byte-queue.ts';
import type { Credentials } from './credentials.ts';
import { encodeRequest } from './http1/encode-request.ts';
import type { ResponseHead } from './http1/response-head.ts';
import { answerTooLong, longestAnswer, unreachable } from './transport-failure.ts';
import type {
  Transport,
  TransportOptions,
  TransportRequest,
  TransportResponse,
  TransportStream,
} from './transport.ts';
import { defaultTimeoutMs, requestUrl } from './transport.ts';

/** An answer that has begun. */
interface Answer {
  readonly head: ResponseHead;
  readonly body: ByteQueue;
}

/** How long a caller of `beginHandshake` is kept from its own work by a server that is far away or not there. */
const patienceMs = 5;
const flowLimits = { high: 1_048_576, low: 262_144 };

/**
 * The transport for Bun's executables: HTTP/1.1 on Bun's own TLS sockets. Why not its fetch: docs/decisions/0008.
 */
export class BunSocketTransport implements Transport {
  readonly #runtime: BunRuntime;
  readonly #access: Access;
  readonly #address: string;
  readonly #timeoutMs: number;
  readonly #connections = new Set<BunConnection>();
  #closed = false;

  constructor(runtime: BunRuntime, access: Access, options: TransportOptions = {}) {
    this.#runtime = runtime;
    this.#access = access;
    this.#address = serverAddress(access);
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  }

  /**
   * Connects before the first request, for a caller with other things to do meanwhile. Resolves when the handshake is
   * on its way, and soon in any case: what goes wrong here goes wrong again, and is told, at the first request.
   */
  beginHandshake(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, patienceMs);
    const done = (): void => {
      clearTimeout(timer);
      // Bun sends the first bytes only when the callback that tells of the connection is over
      setImmediate(resolve);
    };
    this.#connect(done).catch(done);
    return promise;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const deadline = this.#deadline(request);
    try {
      const { head, body } = await this.#begin(request, deadline);
      const decoder = new TextDecoder();
      let text = '';
      let length = 0;
      for (;;) {
        const chunk = await body.next();
        if (chunk === undefined) break;
        length += chunk.length;
        if (length > longestAnswer) {
          deadline.onStop(answerTooLong(this.#address));
          throw answerTooLong(this.#address);
        }
        text += decoder.decode(chunk, { stream: true });
      }
      return { status: head.status, headers: head.headers, body: text + decoder.decode() };
    } finally {
      deadline.over();
    }
  }

  async stream(request: TransportRequest): Promise<TransportStream> {
    const deadline = this.#deadline(request);
    try {
      const { head, body } = await this.#begin(request, deadline);
      deadline.stopClock();
      return { status: head.status, headers: head.headers, chunks: chunksOf(body, deadline) };
    } catch (error) {
      deadline.over();
      throw error;
    }
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#connections) connection.close();
  }

  async #connect(onOpened: () => void): Promise<void> {
    const credentials = await credentialsOf(this.#access);
    if (this.#closed) onOpened();
    else this.#connection(credentials).onOpened = onOpened;
  }

  /** Sends the request; resolves with the answer's head. */
  async #begin(request: TransportRequest, deadline: Deadline): Promise<Answer> {
    const credentials = await credentialsOf(this.#access);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    if (request.signal?.aborted === true) throw request.signal.reason;
    const bytes = encodeRequest({
      method: request.method,
      url: requestUrl(this.#access.server, request),
      headers: requestHeaders(identityHeadersInBun(this.#access, credentials), request),
      body: request.body,
    });
    // a connection that is opened now would keep the process alive
    if (this.#closed) throw unreachable(this.#address, new Error('the transport was closed'));
    const connection = this.#connection(credentials);
    const body = new ByteQueue({ ...flowLimits, onFlow: (wanted) => connection.flow(wanted) });
    const failed = (error: unknown): void => {
      reject(error);
      body.end({ error });
    };
    deadline.onStop = (reason) => {
      failed(reason);
      connection.close();
    };
    connection.start(bytes, {
      head: (head) => resolve({ head, body }),
      content: (chunk) => body.push(chunk),
      ended: () => body.end(),
      failed: (error) => failed(unreachable(this.#address, error)),
    });
    return promise;
  }

  #connection(credentials: Credentials): BunConnection {
    for (const connection of this.#connections) if (connection.serves(credentials)) return connection;
    const connection = new BunConnection(this.#runtime, this.#access, credentials);
    this.#connections.add(connection);
    connection.onClosed = () => this.#connections.delete(connection);
    return connection;
  }

  #deadline(request: TransportRequest): Deadline {
    return new Deadline(this.#timeoutMs, request.signal, () =>
      unreachable(this.#address, new DOMException('no answer in time', 'TimeoutError')),
    );
  }
}

/** Ends an exchange by the clock or by the caller's signal. */
class Deadline {
  onStop: (reason: unknown) => void = () => {};
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #signal: AbortSignal | undefined;
  readonly #aborted = (): void => this.onStop(this.#signal?.reason);

  constructor(milliseconds: number, signal: AbortSignal | undefined, timeout: () => unknown) {
    this.#timer = setTimeout(() => this.onStop(timeout()), milliseconds);
    this.#signal = signal;
    signal?.addEventListener('abort', this.#aborted);
  }

  stopClock(): void {
    clearTimeout(this.#timer);
  }

  over(): void {
    this.stopClock();
    this.#signal?.removeEventListener('abort', this.#aborted);
  }

  /** For a reader who leaves before the end. */
  abandon(): void {
    this.over();
    this.onStop(new DOMException('the reader left', 'AbortError'));
  }
}

async function* chunksOf(body: ByteQueue, deadline: Deadline): AsyncGenerator<Uint8Array> {
  let ended = false;
  try {
    for (;;) {
      const chunk = await body.next();
      if (chunk === undefined) {
        ended = true;
        return;
      }
      yield chunk;
    }
  } finally {
    if (ended) deadline.over();
    else deadline.abandon();
  }
}

function requestHeaders(identity: Record<string, string>, request: TransportRequest): Record<string, string> {
  return {
    Accept: 'application/json',
    ...identity,
    ...(request.body !== undefined && { 'Content-Type': request.contentType ?? 'application/json' }),
  };
}
