import type { Readable } from 'node:stream';
import { WebSocket } from 'ws';
import type { ApiError } from '../../../kubernetes/api-error.ts';
import type { Status } from '../../../kubernetes/object.ts';
import type { ExecSession } from '../../node/pod-console.ts';
import { channels, exitStatus, encodeChannelMessage, parseResize } from './exec-protocol.ts';

/** Which outputs of the command the client asked for. */
export interface ExecOutputs {
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** A command that does not read lets its client send this much ahead. */
const maximumInput = 16 * 1024 * 1024;

/**
 * Joins a WebSocket and a command until the command has ended and all of its output is sent, or the client is gone,
 * which kills the command (as containerd does).
 */
export async function pipeExec(socket: WebSocket, session: ExecSession, outputs: ExecOutputs): Promise<void> {
  let ended = false;
  socket.on('close', () => {
    if (!ended) session.kill();
  });
  // the close event follows
  socket.on('error', () => socket.terminate());
  // a command may end before it has read its input
  session.stdin?.on('error', () => undefined);
  session.stdin?.on('drain', () => socket.resume());
  socket.on('message', (data: Buffer) => {
    receive(session, data);
    // while paused the client's end goes unnoticed, so only where memory is at stake
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

/** Reads an output to its end; without a socket, or when its client has gone, for nothing. */
async function forward(socket: WebSocket | undefined, output: Readable, channel: number): Promise<void> {
  for await (const chunk of output as AsyncIterable<Uint8Array>) {
    if (socket?.readyState === WebSocket.OPEN) await send(socket, encodeChannelMessage(channel, chunk));
  }
}

/** Resolves when the bytes are with the system, so that a slow client slows the command; also when it has gone. */
function send(socket: WebSocket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => socket.send(bytes, { binary: true }, () => resolve()));
}
