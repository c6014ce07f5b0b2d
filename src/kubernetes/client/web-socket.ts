import type { IncomingMessage } from 'node:http';
import { Agent } from 'node:https';
import type { ClientOptions, WebSocket as Socket } from 'ws';
import {
  type Access,
  credentialsOf,
  identityHeaders,
  identityHeadersInBun,
  isBun,
  serverAddress,
} from '../access/access.ts';
import { type ApiError, type ApiRequest, responseError } from './api-error.ts';
import { nodeTls } from './node-transport.ts';
import { openTransport } from './open-transport.ts';
import { transportFailure, unreachableError, answerTooLong } from './transport.ts';
import { Readable } from 'node:stream';

export interface OpenedSocket {
  readonly socket: Socket;
  /** Rejects with ApiError if the server responds without an upgrade. */
  readonly opened: Promise<void>;
}

const openTimeoutMs = 30_000;
/** The limit for one message in bytes. */
export const maxMessageLength = 16 * 1024 * 1024;
/** The limit for a response without an upgrade in bytes. A Status has some hundred. */
const maxRefusalLength = 1024 * 1024;

/** Opens a WebSocket of that subprotocol to the API server; `path` is below the server's URL. */
export async function openWebSocket(
  access: Access,
  path: string,
  subprotocol: string,
): Promise<OpenedSocket> {
  const { WebSocket } = await import('ws');
  const url = (access.server + path).replace(/^https:/u, 'wss:');
  const socket = new WebSocket(url, [subprotocol], await socketOptions(access));
  socket.binaryType = 'nodebuffer';
  const opened = whenOpened(socket, access, path).catch(async (error: unknown) => {
    throw (await readRefusal(access, path, error)) ?? error;
  });
  // a failure shows on both the socket and `opened`; a caller that ignores one must not crash the process
  opened.catch(() => undefined);
  return { socket, opened };
}

function whenOpened(socket: Socket, access: Access, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on('open', resolve);
  socket.on('error', (error) => {
    reject(unreachableError(serverAddress(access), error));
  });
  socket.on('unexpected-response', (_request, response: IncomingMessage) => {
    textUpTo(response, maxRefusalLength).then(
      (body) => {
        reject(responseError(response.statusCode ?? 500, body, refusedRequest(path)));
        socket.terminate();
      },
      (error: unknown) => {
        reject(unreachableError(serverAddress(access), error));
      },
    );
  });
  return promise;
}

/**
 * Reads the response to a refused upgrade, which Bun's WebSocket does not expose. A plain GET of the same
 * path gets it and runs nothing, because the API server requires an upgrade for it (apimachinery
 * pkg/util/proxy/upgradeaware.go, UpgradeRequired).
 */
async function readRefusal(access: Access, path: string, error: unknown): Promise<ApiError | undefined> {
  if (!isBun() || transportFailure(error) !== 'other') {
    return undefined;
  }
  const transport = await openTransport(access);
  try {
    const { status, body } = await transport.request({ method: 'GET', path });
    return status === 400 || status < 300 ? undefined : responseError(status, body, refusedRequest(path));
  } finally {
    transport.close();
  }
}

/** Drops the query, which may contain a command. */
const refusedRequest = (path: string): ApiRequest => ({ method: 'GET', path: path.replace(/\?.*$/u, '') });

/**
 * Returns options for both runtimes. Bun replaces `ws` by its own client, which reads `tls` and `proxy`;
 * Node's uses the settings of its agent.
 */
async function socketOptions(access: Access): Promise<ClientOptions> {
  const credentials = await credentialsOf(access);
  const tls = nodeTls(access, credentials);
  const options: ClientOptions & { tls: object; proxy?: string } = {
    tls: { ...tls, serverName: access.tlsServerName },
    ...(access.proxy !== undefined && { proxy: access.proxy }),
    ...(isBun() ? tls : { agent: new Agent(tls) }),
    handshakeTimeout: openTimeoutMs,
    maxPayload: maxMessageLength,
    // lists as well: Node's `ws` passes them to node:https, though its types do not allow that
    headers: (isBun()
      ? identityHeadersInBun(access, credentials)
      : identityHeaders(access, credentials)) as Record<string, string>,
  };
  return options;
}

/** Reads the beginning of a text that may be endless. */
async function textUpTo(stream: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > limit) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

export interface ExecSocket {
  /** Rejects with ApiError if the server responds without an upgrade. */
  readonly opened: Promise<void>;
  /** Ends when the server closes; rejects when the connection breaks. */
  readonly messages: AsyncIterable<Uint8Array>;
  /** Resolves when the message is passed to the system, or when the connection has ended. */
  send(message: Uint8Array): Promise<void>;
  terminate(): void;
}

/**
 * The limit for all messages together. A command's output is limited to 4 MiB (pod-exec.ts), and messages are
 * kept until they are read.
 */
const maxOutputLength = maxMessageLength;

/** How often an idle connection is checked, in milliseconds. */
const keepAliveMs = 10_000;

/**
 * Opens a WebSocket of subprotocol v5.channel.k8s.io to the API server; `path` is below the server's URL.
 * With `streams`, the length of all messages together is not limited: the server waits while nothing reads
 * them. Only Node's `ws` supports that.
 */
export async function openExecSocket(
  access: Access,
  path: string,
  { streams = false }: { readonly streams?: boolean } = {},
): Promise<ExecSocket> {
  const { socket, opened } = await openWebSocket(access, path, 'v5.channel.k8s.io');
  // A session on a terminal would otherwise never notice that the server has vanished.
  if (streams) socket.on('upgrade', (response) => response.socket.setKeepAlive(true, keepAliveMs));
  const messages = new Readable({ objectMode: true, read: () => streams && socket.resume() });
  messages.on('error', () => undefined);
  let received = 0;
  socket.on('message', (data) => {
    const message = bytesOf(data);
    received += message.length;
    if (streams || received <= maxOutputLength) {
      if (!messages.push(message) && streams) socket.pause();
      return;
    }
    messages.destroy(answerTooLong(serverAddress(access), maxOutputLength));
    socket.terminate();
  });
  socket.on('close', () => messages.push(null));
  socket.on('error', (error) => messages.destroy(unreachableError(serverAddress(access), error)));
  return {
    opened,
    messages,
    send: (message) => new Promise((resolve) => socket.send(message, () => resolve())),
    terminate: () => {
      socket.terminate();
    },
  };
}

function bytesOf(data: unknown): Uint8Array {
  return data instanceof Uint8Array ? data : Buffer.from(data as ArrayBuffer);
}
