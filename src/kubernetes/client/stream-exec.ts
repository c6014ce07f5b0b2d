import type { Access } from '../access/access.ts';
import { channel, execPath, exitCodeOf, frame, nameOfChannel, type ExecCommand } from './exec.ts';
import { openExecSocket, type ExecSocket } from './web-socket.ts';

export interface ExecStreams {
  /** The input of the command, which is sent as it arrives. Undefined: the command has none. */
  readonly stdin?: AsyncIterable<Uint8Array> | undefined;
  /** Receives the output as it arrives. The next part is read when the promise resolves. */
  readonly onOutput: (stream: 'stdout' | 'stderr', data: Uint8Array) => Promise<void> | void;
  /** Set for a command on a terminal, whose output is all stdout. */
  readonly tty?: ExecTerminal | undefined;
  /** Ends the connection when it is aborted. The result is then a rejection with the signal's reason. */
  readonly signal: AbortSignal;
}

/** The operator's terminal. */
export interface ExecTerminal {
  readonly size: () => { readonly columns: number; readonly rows: number };
  /** Calls `changed` after each change of the size, until the returned function is called. */
  readonly onResize: (changed: () => void) => () => void;
}

/**
 * Runs a command in a container with streams of any length, without a deadline, and returns its exit code.
 * Rejects with ApiError if the API server refuses the request or the container cannot run the command, and
 * with KUBERNETES_UNREACHABLE if the connection fails. Needs Node.
 */
export async function streamExec(
  access: Access,
  command: ExecCommand,
  streams: ExecStreams,
): Promise<number> {
  const { stdin, tty, signal } = streams;
  signal.throwIfAborted();
  const path = execPath(command, { stdin: stdin !== undefined, tty: tty !== undefined });
  const socket = await openExecSocket(access, path, { streams: true });
  const stop = (): void => socket.terminate();
  signal.addEventListener('abort', stop);
  let forgetSize = (): void => undefined;
  try {
    // The signal may have been aborted while the socket was made.
    signal.throwIfAborted();
    await socket.opened;
    if (tty !== undefined) {
      const sendSize = (): void => sendTerminalSize(socket, tty);
      sendSize();
      forgetSize = tty.onResize(sendSize);
    }
    const output = receiveOutput(socket, streams);
    // The command may end before its input does. A failure of the input ends the command.
    const input = stdin === undefined ? output : sendInput(socket, stdin).then(() => output);
    return exitCodeOf(await Promise.race([output, input]), command);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    forgetSize();
    signal.removeEventListener('abort', stop);
    socket.terminate();
  }
}

async function sendInput(socket: ExecSocket, stdin: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of stdin) await socket.send(frame(channel.stdin, chunk));
  await socket.send(Uint8Array.of(channel.close, channel.stdin));
}

/** Returns the text of the error channel, which has the exit code. */
async function receiveOutput(socket: ExecSocket, { onOutput }: ExecStreams): Promise<string> {
  for await (const message of socket.messages) {
    const name = nameOfChannel(message[0]);
    const data = message.subarray(1);
    if (name === 'error') return Buffer.from(data).toString('utf8');
    if (name !== undefined && data.length > 0) await onOutput(name, data);
  }
  return '';
}

function sendTerminalSize(socket: ExecSocket, { size }: ExecTerminal): void {
  const { columns, rows } = size();
  void socket.send(frame(channel.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows }))));
}
