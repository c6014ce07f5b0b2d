import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { isProductError, ProductError } from '../errors/product-error.ts';
import type { ClientOwner, Connection } from './client-owner.ts';
import { joinStreams } from './join-streams.ts';
import type { OwnSocket } from './own-sockets.ts';
import { receiveRequest, reply, requestResponse, type Destination } from './socks5.ts';

export interface TunnelOptions {
  /** 0: any free port. */
  readonly port: number;
  /** Opens a stream to the destination of a client. */
  readonly connect: (destination: Destination) => Promise<Duplex>;
  /** Absent: this system does not show the owner of a connection. */
  readonly clientOwner?: ClientOwner | undefined;
  /** Absent: processes of other pid namespaces are served, too. */
  readonly ownSocket?: OwnSocket | undefined;
  /** The user whose clients are served. */
  readonly uid: number | undefined;
  /** Logs a line for the operator. */
  readonly log: (line: string) => void;
  /** Milliseconds in which a client must send its request. Default: 10 s. */
  readonly handshakeMs?: number;
}

export interface Tunnel {
  readonly port: number;
  /** Closes the tunnel and all its connections. */
  close(): Promise<void>;
}

/**
 * Starts a SOCKS5 proxy on 127.0.0.1 for processes of one user of this machine. It has no password, so it
 * disconnects clients of other users. Rejects with TUNNEL_NOT_STARTED if the port is taken.
 */
export async function startTunnel(options: TunnelOptions): Promise<Tunnel> {
  const clients = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    clients.add(socket);
    socket.on('close', () => clients.delete(socket));
    // failures are reported by the functions that use the socket
    socket.on('error', () => undefined);
    void serve(socket, options, failures);
  });
  const failures: FailureState = {
    failures: new FailureLog(options.log),
    refusedUsers: new Set(),
    hasReportedContainers: false,
  };
  server.listen(options.port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    throw portUnavailable(options.port, error);
  }
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const client of clients) client.destroy();
      await closed;
    },
  };
}

function portUnavailable(port: number, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error)) return error;
  const why =
    error.code === 'EADDRINUSE'
      ? 'another process listens there'
      : `the system refuses it (${String(error.code)})`;
  return new ProductError(
    'TUNNEL_NOT_STARTED',
    `Port ${port} of 127.0.0.1 cannot be used: ${why}; choose another one with --port, or leave --port out`,
    { cause: error },
  );
}

/** The state that keeps messages from being logged twice. */
interface FailureState {
  readonly failures: FailureLog;
  readonly refusedUsers: Set<number>;
  hasReportedContainers: boolean;
}

async function serve(socket: Socket, options: TunnelOptions, failureState: FailureState): Promise<void> {
  const { failures } = failureState;
  const connection = connectionOf(socket);
  try {
    if (!(await isAllowedClient(connection, options, failureState))) return void socket.destroy();
    const destination = await receiveRequest(socket, AbortSignal.timeout(options.handshakeMs ?? 10_000));
    const remote = await connectOrRefuse(socket, destination, options, failures);
    if (remote === undefined) return;
    const failure = await joinStreams(socket, remote, connection);
    if (failure === undefined) failures.forget(destination);
    else failures.report(destination, failure);
  } catch (error) {
    // a client that disconnects before its request is not an error
    if (socket.errored === null) options.log(describe(error));
    if (socket.writableEnded) socket.destroySoon();
    else socket.destroy();
  }
}

/** Returns both ends; they are known only while the socket is open. */
function connectionOf({
  remoteAddress = '',
  remotePort = 0,
  localAddress = '',
  localPort = 0,
}: Socket): Connection {
  return {
    client: { address: remoteAddress, port: remotePort },
    server: { address: localAddress, port: localPort },
  };
}

/**
 * Returns true if the client may use the tunnel. Logs each rejected user once, and clients in containers
 * once, so that repeated connections do not fill the log.
 */
async function isAllowedClient(
  connection: Connection,
  { clientOwner, ownSocket, uid, log }: TunnelOptions,
  failures: FailureState,
): Promise<boolean> {
  if (clientOwner === undefined) return true;
  const owner = await clientOwner(connection);
  if (owner === undefined) return false;
  if (owner.uid !== uid) {
    if (!failures.refusedUsers.has(owner.uid))
      log(`A client of user ${owner.uid} was refused: this tunnel serves only user ${uid}`);
    failures.refusedUsers.add(owner.uid);
    return false;
  }
  if (ownSocket === undefined || (await ownSocket(owner.inode))) return true;
  if (!failures.hasReportedContainers) log(ofContainer);
  failures.hasReportedContainers = true;
  return false;
}

const ofContainer =
  'A client of this user in another pid namespace was refused: it may be a job of a pod of the embedded cluster. To use the tunnel from a container with the network of this machine, start it with --allow-containers';

/** Connects to the destination. If that fails, sends the client a refusal and returns undefined. */
async function connectOrRefuse(
  socket: Socket,
  destination: Destination,
  { connect }: TunnelOptions,
  failures: FailureLog,
): Promise<Duplex | undefined> {
  try {
    const remote = await connect(destination);
    if (socket.destroyed) {
      remote.destroy();
      return undefined;
    }
    socket.write(requestResponse(reply.succeeded));
    return remote;
  } catch (error) {
    failures.report(destination, error);
    socket.end(requestResponse(replyOf(error)));
    socket.destroySoon();
    return undefined;
  }
}

function replyOf(error: unknown): number {
  if (isProductError(error, 'TUNNEL_REFUSED')) return reply.refused;
  if (isProductError(error, 'POD_PORT_CLOSED')) return reply.closed;
  if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return reply.closed;
  if (error instanceof Error && 'code' in error && error.code === 'ENOTFOUND') return reply.unreachable;
  return reply.failure;
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Logs failures of destinations. The same failure is logged once in a row, because a client that waits for a
 * VM repeats it.
 */
class FailureLog {
  readonly #log: (line: string) => void;
  readonly #reported = new Map<string, string>();

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  report({ host, port }: Destination, error: unknown): void {
    const key = `${host}:${port}`;
    const message = describe(error);
    if (this.#reported.get(key) === message) return;
    this.#reported.set(key, message);
    this.#log(`${key}: ${message}`);
  }

  forget({ host, port }: Destination): void {
    this.#reported.delete(`${host}:${port}`);
  }
}
