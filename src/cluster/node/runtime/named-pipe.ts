import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { runCommand } from '../command.ts';

/** A real pipe from a process to the node: `child` is handed to the process and then closed here. */
export interface Pipe {
  readonly child: number;
  readonly stream: Socket;
}

function openPipe(path: string): Pipe {
  // Without O_NONBLOCK this would wait for a writer; with a reader there, the writer's end opens at once.
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const child = openSync(path, constants.O_WRONLY);
  unlinkSync(path);
  return { child, stream: new Socket({ fd: reader, readable: true, writable: false }) };
}

/**
 * Makes a pipe for each of the two names in that directory and unlinks it again. Node's own pipes are sockets, and a
 * program that opens /dev/stdout, as many in containers do, fails on a socket. Mode 0622: other users than root may
 * open it too.
 */
export async function openPipes(directory: string, names: readonly [string, string]): Promise<[Pipe, Pipe]> {
  const [first, second] = [join(directory, names[0]), join(directory, names[1])];
  const made = await runCommand('mkfifo', ['-m', '0622', first, second]);
  if (made.exitCode !== 0) {
    throw new Error(`mkfifo: ${made.stderr.trim()}`);
  }
  return [openPipe(first), openPipe(second)];
}

/** Closes the node's copies of the ends that processes have now, so that their end is the end of the stream. */
export function closeChildEnds(pipes: readonly Pipe[]): void {
  for (const pipe of pipes) {
    closeSync(pipe.child);
  }
}
