import type { Readable } from 'node:stream';
import { WebSocket } from 'ws';
import type { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Status } from '../../../src/kubernetes/object.ts';
import type { ExecSession } from '../../node/pod-console.ts';
import { channels, exitStatus, encodeChannelMessage, parseResize } from './exec-protocol.ts';

/** The outputs of the command that the client requested. */
export interface ExecOutputs {
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** Input in bytes that a client may send ahead to a command that does not read. */
const maximumInput = 16 * 1024 * 1024;

/**
 * Connects a WebSocket to a command until the command has ended and all of its output is sent. Kills the
 * command if the client disconnects (as containerd does).
 */
export async function pipeExec(socket: WebSocket, session: ExecSession, outputs: ExecOutputs): Promise<void> {
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
export async function reportFailure(socket: WebSocket, { status }: ApiError): Promise<void> {
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
