import { Readable } from 'node:stream';
import type { Access } from './access.ts';
import { serverAddress } from './access.ts';
import { answerTooLong, unreachableError } from './transport-failure.ts';
import { longestMessage, openWebSocket } from './web-socket.ts';

export interface ExecSocket {
  /** Rejects with ApiError if the server responds without an upgrade. */
  readonly opened: Promise<void>;
  /** Ends when the server closes; rejects when the connection breaks. */
  readonly messages: AsyncIterable<Uint8Array>;
  send(message: Uint8Array): void;
  terminate(): void;
}

/**
 * The limit for all messages together. A command's output is limited to 4 MiB (pod-exec.ts), and messages are
 * kept until they are read.
 */
const longestOutput = longestMessage;

/** Opens a WebSocket of subprotocol v5.channel.k8s.io to the API server; `path` is below the server's URL. */
export async function openExecSocket(access: Access, path: string): Promise<ExecSocket> {
  const { socket, opened } = await openWebSocket(access, path, 'v5.channel.k8s.io');
  const messages = new Readable({ objectMode: true, read: () => undefined });
  messages.on('error', () => undefined);
  let received = 0;
  socket.on('message', (data) => {
    const message = bytesOf(data);
    received += message.length;
    if (received <= longestOutput) return void messages.push(message);
    messages.destroy(answerTooLong(serverAddress(access), longestOutput));
    socket.terminate();
  });
  socket.on('close', () => messages.push(null));
  socket.on('error', (error) => messages.destroy(unreachableError(serverAddress(access), error)));
  return {
    opened,
    messages,
    send: (message) => {
      socket.send(message);
    },
    terminate: () => {
      socket.terminate();
    },
  };
}

function bytesOf(data: unknown): Uint8Array {
  return data instanceof Uint8Array ? data : Buffer.from(data as ArrayBuffer);
}
