import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { WebSocketServer, WebSocket } from 'ws';
import { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import { badRequest } from '../errors/status-errors.ts';
import type { RequestContext } from './request-context.ts';
import { podTarget } from './pod-target.ts';
import { booleanParameter } from './query.ts';
import type { ExecRequest, ExecSession } from '../../node/pod-console.ts';
import type { Status } from '../../../src/kubernetes/object.ts';

/**
 * The supported protocols, preferred first. Both have a channel byte before each message; v5 adds the close
 * signal (KEP-4006).
 */
const execProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;

/** Channel numbers (apimachinery pkg/util/remotecommand/constants.go). */
export const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** The outputs of the command that the client requested. */
interface ExecOutputs {
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** An authorized request, which has no response yet. */
type ExecContext = Pick<RequestContext, 'registry' | 'console' | 'route' | 'query' | 'request'>;

/**
 * Serves pods/exec over WebSocket, v5 or v4. Throws ApiError if the target or the protocol is not valid. If
 * the container cannot run the command, the client gets a Status on the error channel, as from a real server
 * (kubectl would take a rejected upgrade for a server without WebSocket).
 */
export async function serveExec(context: ExecContext, socket: Duplex, head: Buffer): Promise<void> {
  const { request, console: pods } = context;
  const { outputs, ...command } = execRequest(context);
  if ((request.headers.upgrade ?? '').toLowerCase() !== 'websocket') {
    throw badRequest(
      'the embedded cluster serves exec over WebSocket only, not over SPDY: use kubectl 1.31 or newer, or another client of v5.channel.k8s.io',
    );
  }
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  const protocol = chooseProtocol(offered);
  if (protocol === undefined) {
    throw badRequest(
      `the server does not speak ${offered.join(', ')}; it speaks ${execProtocols.join(', ')}`,
    );
  }
  const webSocket = await completeHandshake(request, protocol, socket, head);
  try {
    await pipeExec(webSocket, await pods.exec(command), outputs);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    await reportFailure(webSocket, error);
  }
}

/** Completes the handshake. The socket is paused, so that the client's messages wait for a listener. */
function completeHandshake(
  request: IncomingMessage,
  protocol: string,
  socket: Duplex,
  head: Buffer,
): Promise<WebSocket> {
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => protocol });
  return new Promise((resolve, reject) => {
    // If the handshake is malformed, ws responds with 400 itself and never calls back.
    const refused = (): void => reject(badRequest('the WebSocket handshake was not completed'));
    socket.once('close', refused);
    server.handleUpgrade(request, socket, head, (accepted) => {
      socket.off('close', refused);
      accepted.pause();
      resolve(accepted);
    });
  });
}

function execRequest({ registry, route, query }: ExecContext): ExecRequest & { outputs: ExecOutputs } {
  const command = query.getAll('command');
  if (command.length === 0) throw badRequest('you must specify at least 1 command');
  const streams = ['stdin', 'stdout', 'stderr', 'tty'].map((name) => booleanParameter(query, name) === true);
  const [stdin = false, stdout = false, stderr = false, tty = false] = streams;
  if (!stdin && !stdout && !stderr)
    throw badRequest('you must specify at least one of stdin, stdout, stderr');
  if (tty && stderr) throw badRequest('tty and stderr cannot both be true');
  return {
    ...podTarget(registry, route, query.get('container')),
    command,
    stdin,
    tty,
    outputs: { stdout, stderr },
  };
}

/** Input in bytes that a client may send ahead to a command that does not read. */
const maximumInput = 16 * 1024 * 1024;

/**
 * Connects a WebSocket to a command until the command has ended and all of its output is sent. Kills the
 * command if the client disconnects (as containerd does).
 */
async function pipeExec(socket: WebSocket, session: ExecSession, outputs: ExecOutputs): Promise<void> {
  let ended = false;
  socket.on('close', () => {
    if (!ended) session.kill();
  });
  // The close event follows.
  socket.on('error', () => socket.terminate());
  // A command may end before it has read its input.
  session.stdin?.on('error', () => undefined);
  session.stdin?.on('drain', () => socket.resume());
  socket.on('message', (data: Buffer) => {
    receive(session, data);
    // A paused socket does not notice that the client disconnects, so it is paused only to limit memory.
    if ((session.stdin?.writableLength ?? 0) > maximumInput) socket.pause();
  });
  socket.resume();
  if (socket.readyState === WebSocket.CLOSED) session.kill();
  const [{ exitCode }] = await Promise.all([
    session.exited,
    forward(outputs.stdout ? socket : undefined, session.stdout, channels.stdout),
    forward(outputs.stderr ? socket : undefined, session.stderr, channels.stderr),
  ]);
  ended = true;
  await end(socket, exitStatus(exitCode));
}

/** Ends an accepted connection with the reason why the command cannot run. */
async function reportFailure(socket: WebSocket, { status }: ApiError): Promise<void> {
  socket.on('error', () => socket.terminate());
  socket.resume();
  await end(socket, status);
}

async function end(socket: WebSocket, status: Partial<Status>): Promise<void> {
  await send(socket, encodeChannelMessage(channels.error, Buffer.from(JSON.stringify(status))));
  socket.close(1000);
}

function receive(session: ExecSession, message: Buffer): void {
  const [channel] = message;
  const data = message.subarray(1);
  switch (channel) {
    case channels.stdin:
      session.stdin?.write(data);
      break;
    case channels.resize: {
      const size = parseResize(data);
      if (size !== undefined) session.resize(size.columns, size.rows);
      break;
    }
    case channels.close:
      if (data[0] === channels.stdin) session.stdin?.end();
      break;
    default:
      break;
  }
}

/** Reads an output to its end; discards it if there is no socket or the client has disconnected. */
async function forward(socket: WebSocket | undefined, output: Readable, channel: number): Promise<void> {
  for await (const chunk of output as AsyncIterable<Uint8Array>) {
    if (socket?.readyState === WebSocket.OPEN) await send(socket, encodeChannelMessage(channel, chunk));
  }
}

/**
 * Resolves when the bytes are passed to the system, so that a slow client slows the command down; also if the
 * client has disconnected.
 */
function send(socket: WebSocket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => socket.send(bytes, { binary: true }, () => resolve()));
}

/** Returns the first of our protocols that the client offers. */
function chooseProtocol(offered: Iterable<string>): (typeof execProtocols)[number] | undefined {
  const names = new Set(offered);
  return execProtocols.find((protocol) => names.has(protocol));
}

function encodeChannelMessage(channel: number, data: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(channel), data]);
}

/** Returns the Status that ends the error channel: Success, or NonZeroExitCode with the code as a cause. */
function exitStatus(exitCode: number): Partial<Status> {
  if (exitCode === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

/** Parses a TerminalSize message; returns undefined if it is not valid. */
function parseResize(data: Uint8Array): { columns: number; rows: number } | undefined {
  const [, columns, rows] = /"Width":(\d{1,5}),"Height":(\d{1,5})/.exec(Buffer.from(data).toString()) ?? [];
  return columns === undefined || rows === undefined
    ? undefined
    : { columns: Number(columns), rows: Number(rows) };
}
