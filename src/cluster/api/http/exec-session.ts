import type { Readable } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ApiError } from '../../../kubernetes/api-error.ts';
import type { Status } from '../../../kubernetes/object.ts';
import type { ExecSession } from '../../node/pod-console.ts';
import { channels, exitStatus, frame, parseResize } from './exec-protocol.ts';

/**
 * Joins a WebSocket and a command until the command has ended and all of its output is sent, or the client is gone,
 * which kills the command (as containerd does).
 */
export async function joinExec(socket: WebSocket, session: ExecSession): Promise<void> {
  let clientGone = false;
  socket.on('close', () => {
    clientGone = true;
    session.kill();
  });
  // the close event follows
  socket.on('error', () => socket.terminate());
  // a command may end before it has read its input
  session.stdin?.on('error', () => undefined);
  socket.on('message', (data: Buffer) => receive(session, data));
  socket.resume();
  const [{ exitCode }] = await Promise.all([
    session.exited,
    forward(socket, session.stdout, channels.stdout),
    forward(socket, session.stderr, channels.stderr),
  ]);
  if (!clientGone) await end(socket, exitStatus(exitCode));
}

/** Ends an accepted connection with the reason why the command cannot run. */
export async function reportFailure(socket: WebSocket, { status }: ApiError): Promise<void> {
  socket.on('error', () => socket.terminate());
  socket.resume();
  await end(socket, status);
}

async function end(socket: WebSocket, status: Partial<Status>): Promise<void> {
  await send(socket, frame(channels.error, Buffer.from(JSON.stringify(status))));
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

async function forward(socket: WebSocket, output: Readable, channel: number): Promise<void> {
  for await (const chunk of output as AsyncIterable<Uint8Array>) {
    if (socket.readyState !== socket.OPEN) return;
    await send(socket, frame(channel, Buffer.from(chunk)));
  }
}

/** Resolves when the bytes are with the system, so that a slow client slows the command; also when it has gone. */
function send(socket: WebSocket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => socket.send(bytes, { binary: true }, () => resolve()));
}
