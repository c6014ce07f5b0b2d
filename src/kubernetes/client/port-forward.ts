import { Duplex } from 'node:stream';
import type { WebSocket as Socket } from 'ws';
import { ProductError } from '../../errors/product-error.ts';
import { serverAddress, type Access } from '../access/access.ts';
import { isMissingResource } from './api-error.ts';
import { resourcePath, pods } from '../resources.ts';
import { unreachableError } from './transport.ts';
import { openWebSocket } from './web-socket.ts';

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

export interface PodPortOptions {
  /**
   * Milliseconds between pings, which keep proxies between here and the API server from closing an idle
   * connection. Default: 30 s.
   */
  readonly pingMs?: number;
  /**
   * How long, in milliseconds, the pod may send nothing after the client has ended its direction. Default: 15
   * s.
   */
  readonly quietMs?: number;
}

const subprotocol = 'v4.channel.k8s.io';
/** Channels of one forwarded port (kubernetes: cri-streaming pkg/streaming/portforward/websocket.go). */
const channel = { data: 0, error: 1 } as const;
const acceptTimeoutMs = 30_000;
/** The most bytes of a runtime's error message that are kept. */
const maxErrorBytes = 2000;

/**
 * Opens a connection to a port of a pod's loopback address, through the API server (pods/portforward).
 * Resolves when the kubelet has accepted it. If nothing listens on the port, that shows only later: the
 * stream fails with POD_PORT_CLOSED. Rejects with ApiError if the API server refuses the request, with
 * NOT_SUPPORTED if it does not serve port forwarding, and with KUBERNETES_UNREACHABLE if it cannot be
 * reached. The stream fails with KUBERNETES_UNREACHABLE, too, if the connection breaks.
 *
 * The protocol cannot signal the end of one direction: after end() the stream stays open until the pod closes
 * it or sends nothing for `quietMs`. Loads the WebSocket library.
 */
export async function openPodPort(
  access: Access,
  target: PodPort,
  { pingMs = 30_000, quietMs = 15_000 }: PodPortOptions = {},
): Promise<Duplex> {
  const path = `${resourcePath(pods, target.namespace, target.pod, 'portforward')}?ports=${target.port}`;
  const { socket, opened } = await openWebSocket(access, path, subprotocol);
  socket.on('upgrade', (response) => response.socket.setKeepAlive(true, pingMs));
  const stream = new PodPortStream(socket, { access, target, quietMs });
  // until the caller has the stream; `taken` rejects with the same error
  stream.on('error', () => undefined);
  const pings = setInterval(() => {
    if (socket.readyState === socket.OPEN) socket.ping();
  }, pingMs);
  socket.on('close', () => clearInterval(pings));
  try {
    await opened;
  } catch (error) {
    stream.destroy();
    throw isMissingResource(error) ? notForwarding(access) : error;
  }
  const alarm = setTimeout(() => stream.destroy(notAcceptedError(target)), acceptTimeoutMs);
  try {
    await stream.taken;
    return stream;
  } finally {
    clearTimeout(alarm);
  }
}

function notForwarding(access: Access): ProductError {
  return new ProductError(
    'NOT_SUPPORTED',
    `The Kubernetes API at ${serverAddress(access)} does not serve port forwarding to pods; name a cluster that does. The embedded cluster does not: its pods' addresses are this machine's and need no tunnel`,
  );
}

function notAcceptedError(target: PodPort): ProductError {
  const waited = `waited ${acceptTimeoutMs / 1000} s for the node of pod ${target.namespace}/${target.pod} to forward port ${target.port}`;
  return new ProductError('DEADLINE', `${waited}; check that that node is Ready, then connect again`);
}

interface StreamOptions {
  readonly access: Access;
  readonly target: PodPort;
  readonly quietMs: number;
}

class PodPortStream extends Duplex {
  /**
   * Resolves once the kubelet has announced both channels, each by a first message with the port's number.
   */
  readonly taken: Promise<void>;
  readonly #socket: Socket;
  readonly #options: StreamOptions;
  readonly #announced = new Set<number>();
  #problem = '';
  #failure: ProductError | undefined;
  #hasData = false;
  #quiet: NodeJS.Timeout | undefined;

  constructor(socket: Socket, options: StreamOptions) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    this.#options = options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.taken = promise;
    promise.catch(() => undefined);
    socket.on('message', (data: Buffer) => {
      this.#receive(data);
      if (this.#announced.size === 2) resolve();
    });
    socket.on('error', (error) => this.#fail(unreachableError(serverAddress(options.access), error)));
    socket.on('close', (code) => {
      const remoteError = this.#errorAt(code);
      if (remoteError === undefined) this.push(null);
      else this.#fail(remoteError);
      reject(this.errored ?? this.#failure ?? remoteError ?? closedEarly(options.target));
    });
  }

  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    if (this.#failure !== undefined && this.readableLength === 0)
      process.nextTick(() => this.destroy(this.#failure));
    return chunk;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    // the pod has closed the connection and reads no more; data that it sent before can still be read
    if (this.#socket.readyState !== this.#socket.OPEN) return done();
    this.#socket.send(Buffer.concat([Uint8Array.of(channel.data), chunk]), done);
  }

  override _final(done: () => void): void {
    this.#restartQuiet();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#quiet);
    this.#socket.terminate();
    done(error);
  }

  /** Fails once the buffered data is read, because an error drops the buffer of a stream. */
  #fail(error: ProductError): void {
    if (this.readableLength === 0) this.destroy(error);
    else this.#failure ??= error;
  }

  #receive(data: Buffer): void {
    const [number = -1] = data;
    const content = data.subarray(1);
    if (!this.#announced.has(number)) {
      this.#announced.add(number);
    } else if (number === channel.error) {
      this.#problem = (this.#problem + content.toString('utf8')).slice(0, maxErrorBytes);
    } else if (number === channel.data && content.length > 0) {
      this.#hasData = true;
      if (this.#quiet !== undefined) this.#restartQuiet();
      if (!this.push(content)) this.#socket.pause();
    }
  }

  #restartQuiet(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.#socket.close(1000), this.#options.quietMs);
  }

  /**
   * Returns the error for a closed connection; undefined for a regular end (code 1000). If the runtime closes
   * at once, its error message can be lost: then no data came and the code is another one.
   */
  #errorAt(code: number): ProductError | undefined {
    const { access, target } = this.#options;
    if (this.#problem !== '') return closed(target, this.#problem);
    if (code === 1000) return undefined;
    if (!this.#hasData && this.#announced.size === 2) return closedEarly(target);
    return unreachableError(
      serverAddress(access),
      new Error(`the connection ended with WebSocket code ${code}`),
    );
  }
}

const describe = ({ namespace, pod, port }: PodPort): string => `Port ${port} of pod ${namespace}/${pod}`;
const listen = "it has to listen on 0.0.0.0, :: or 127.0.0.1, not on the pod's own address alone";

function closed(target: PodPort, problem: string): ProductError {
  const message = /connection refused/iu.test(problem)
    ? `${describe(target)} refuses connections on the pod's loopback address: start what should listen there; ${listen}`
    : `${describe(target)} cannot be reached by its node: ${problem.replaceAll(/\s+/gu, ' ').trim()}`;
  return new ProductError('POD_PORT_CLOSED', message);
}

function closedEarly(target: PodPort): ProductError {
  return new ProductError(
    'POD_PORT_CLOSED',
    `${describe(target)} closed the connection before it sent anything; check that something listens on the pod's loopback address: ${listen}`,
  );
}
