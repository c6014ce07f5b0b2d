import type { Access } from '../access.ts';
import type { Credentials } from '../credentials.ts';
import { ResponseReader } from '../http1/response-reader.ts';
import type { ResponseHead } from '../http1/response-head.ts';
import type { BunRuntime, BunSocket, BunTls } from './bun-runtime.ts';

/** What an exchange reports; after `ended` or `failed` nothing more comes. */
export interface ExchangeSink {
  readonly head: (head: ResponseHead) => void;
  readonly content: (bytes: Uint8Array) => void;
  readonly ended: () => void;
  readonly failed: (error: Error) => void;
}

interface Exchange {
  readonly sink: ExchangeSink;
  readonly reader: ResponseReader;
  keepsAlive: boolean;
}

/** One TLS connection, one exchange after the other. Nothing is sent before chain and name of the server are verified. */
export class BunConnection {
  /** Told when the connection can serve no more requests. */
  onClosed: () => void = () => {};
  /** Told when the server is reached and the handshake under way. */
  onOpened: () => void = () => {};
  #socket: BunSocket | undefined;
  #verified = false;
  #unsent: Uint8Array | undefined;
  #exchange: Exchange | undefined;
  #closed = false;
  #failure: Error | undefined;

  readonly #certificate: string | undefined;

  constructor(runtime: BunRuntime, access: Access, credentials: Credentials) {
    this.#certificate = credentials.certificate;
    const url = new URL(access.server);
    const connecting = runtime.connect({
      hostname: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
      port: url.port === '' ? 443 : Number(url.port),
      tls: tlsOf(access, credentials),
      socket: {
        open: (socket) => this.#opened(socket),
        handshake: (_, authorized, error) => this.#shookHands(authorized, error),
        data: (_, bytes) => this.#received(bytes),
        drain: () => this.#send(),
        end: () => this.#ended(),
        close: () => this.#ended(),
        error: (_, error) => this.#fail(error),
        connectError: (_, error) => this.#fail(error),
      },
    });
    connecting.catch((error: unknown) => {
      this.#fail(error instanceof Error ? error : new Error('the connection failed'));
    });
  }

  /** Can take an exchange of somebody with these credentials. */
  serves({ certificate }: Credentials): boolean {
    return !this.#closed && this.#exchange === undefined && certificate === this.#certificate;
  }

  /** Sends a request; the answer goes to the sink. Call it on an idle connection only. */
  start(request: Uint8Array, sink: ExchangeSink): void {
    const exchange: Exchange = {
      sink,
      keepsAlive: false,
      reader: new ResponseReader({
        head: (head) => {
          exchange.keepsAlive = head.keepsAlive;
          sink.head(head);
        },
        content: sink.content,
        ended: () => this.#exchangeEnded(exchange),
      }),
    };
    this.#exchange = exchange;
    this.#unsent = request;
    if (this.#closed) this.#fail(this.#failure ?? reset());
    else this.#send();
  }

  /** Closes at once; an exchange on it fails. */
  close(): void {
    this.#fail(reset());
  }

  /** Stops or lets go on what the server sends. */
  flow(wanted: boolean): void {
    if (wanted) this.#socket?.resume();
    else this.#socket?.pause();
  }

  #opened(socket: BunSocket): void {
    this.#socket = socket;
    if (this.#closed) socket.terminate();
    else this.onOpened();
  }

  #shookHands(authorized: boolean, error: Error | null): void {
    if (!authorized || error !== null) {
      this.#fail(error ?? Object.assign(new Error('not verified'), { code: 'ERR_TLS_HANDSHAKE' }));
      return;
    }
    this.#verified = true;
    this.#send();
  }

  #send(): void {
    if (!this.#verified || this.#unsent === undefined || this.#socket === undefined) return;
    const written = Math.max(0, this.#socket.write(this.#unsent));
    this.#unsent = written === this.#unsent.length ? undefined : this.#unsent.subarray(written);
  }

  #received(bytes: Uint8Array): void {
    if (this.#closed) return;
    try {
      if (this.#exchange === undefined) throw new Error('the server sent bytes that nobody asked for');
      this.#exchange.reader.push(bytes);
    } catch (error) {
      this.#fail(error instanceof Error ? error : reset());
    }
  }

  #exchangeEnded(exchange: Exchange): void {
    this.#exchange = undefined;
    // an answer that came before the request was sent whole leaves the connection in the middle of something
    if (!exchange.keepsAlive || this.#unsent !== undefined) this.#close();
    exchange.sink.ended();
  }

  #ended(): void {
    if (this.#closed) return;
    if (this.#exchange?.reader.connectionEnded() === true) this.#close();
    else this.#fail(reset());
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#close();
    exchange?.sink.failed(this.#failure);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#unsent = undefined;
    this.#socket?.terminate();
    this.onClosed();
  }
}

function tlsOf(access: Access, { certificate, key }: Credentials): BunTls {
  return {
    rejectUnauthorized: true,
    ...(access.ca !== undefined && { ca: access.ca }),
    ...(certificate !== undefined && { cert: certificate }),
    ...(key !== undefined && { key }),
    ...(access.tlsServerName !== undefined && { serverName: access.tlsServerName }),
  };
}

function reset(): Error {
  return Object.assign(new Error('the connection ended'), { code: 'ECONNRESET' });
}
