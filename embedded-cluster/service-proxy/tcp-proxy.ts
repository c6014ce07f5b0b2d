import { connect, createServer, type Server, type Socket } from 'node:net';

export interface Backend {
  readonly address: string;
  readonly port: number;
}

/** One proxied connection. */
interface Passing {
  readonly client: Socket;
  upstream: Socket | undefined;
  isConnected: boolean;
}

/**
 * One listening socket of a Service. Connections go to its backends in turn; if a backend refuses a
 * connection, the next one gets it. Established connections stay open when the backends change, as they do in
 * a real cluster.
 */
export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #backends: readonly Backend[] = [];
  #turn = 0;

  constructor() {
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#serve(client));
  }

  /** Rejects with the system's error: EADDRINUSE, EACCES, EADDRNOTAVAIL. */
  async listen(address: string, port: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen({ host: address, port, exclusive: true }, resolve);
    await promise;
    this.#server.off('error', reject);
    // accept(2) may fail, for example with too many open files; this does not affect the next connection.
    this.#server.on('error', () => undefined);
  }

  setBackends(backends: readonly Backend[]): void {
    this.#backends = backends;
  }

  /** Accepts no more connections; `now` also ends the established ones. */
  async close(now: boolean): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    if (!now) return;
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #serve(client: Socket): void {
    this.#watch(client);
    const backends = this.#backends;
    const first = this.#turn;
    this.#turn = (this.#turn + 1) % Number.MAX_SAFE_INTEGER;
    const order = backends.map((_, index) => backends[(first + index) % backends.length] as Backend);
    const passing: Passing = { client, upstream: undefined, isConnected: false };
    client.once('close', (hadError) => {
      if (hadError || !passing.isConnected) passing.upstream?.destroy();
    });
    this.#tryNext(passing, order);
  }

  /**
   * Connects the client to the first backend that accepts. If none is left, it resets the connection, as a
   * closed port would.
   */
  #tryNext(passing: Passing, [backend, ...others]: readonly Backend[]): void {
    const { client } = passing;
    if (client.destroyed) return;
    if (backend === undefined) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ ...toOptions(backend), allowHalfOpen: true, noDelay: true });
    this.#watch(upstream);
    passing.upstream = upstream;
    upstream.once('connect', () => {
      passing.isConnected = true;
      client.pipe(upstream);
      upstream.pipe(client);
    });
    upstream.once('close', (hadError) => {
      if (!passing.isConnected) this.#tryNext(passing, others);
      else if (hadError) client.resetAndDestroy();
    });
  }

  #watch(socket: Socket): void {
    this.#sockets.add(socket);
    // A `close` event follows each error.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

const toOptions = ({ address, port }: Backend): { host: string; port: number } => ({ host: address, port });
