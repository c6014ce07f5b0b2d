import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { runCommand } from '../command.ts';

/** A real pipe from a process to the node: `child` is passed to the process and then closed here. */
export interface Pipe {
  readonly child: number;
  readonly stream: Socket;
}

interface PipeEnds {
  readonly reader: number;
  readonly child: number;
}

/** One mkfifo(1) creates this number of pipes: to start the program takes longer than to create them. */
const poolSize = 16;

/**
 * Pipes made by mkfifo(1) in this directory and unlinked as soon as they are open. Node.js' own pipes are
 * sockets, and a program that opens /dev/stdout, as many programs in containers do, fails on a socket. Mode
 * 0622: users other than root may open it, too. Unused pipes stay open as long as this process runs.
 */
export class NamedPipes {
  readonly #directory: string;
  readonly #ready: PipeEnds[] = [];
  #filling: Promise<void> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Returns two pipes, for stdout and stderr of a process. Rejects if mkfifo cannot create any. */
  async acquire(): Promise<[Pipe, Pipe]> {
    for (;;) {
      const [stdout, stderr] = this.#ready;
      if (stdout !== undefined && stderr !== undefined) {
        this.#ready.splice(0, 2);
        return [openStream(stdout), openStream(stderr)];
      }
      this.#filling ??= this.#prefill().finally(() => {
        this.#filling = undefined;
      });
      await this.#filling;
    }
  }

  async #prefill(): Promise<void> {
    const batch = randomBytes(6).toString('hex');
    const paths = Array.from({ length: poolSize }, (_, index) =>
      join(this.#directory, `pipe-${batch}-${index}`),
    );
    const made = await runCommand('mkfifo', ['-m', '0622', ...paths]);
    if (made.exitCode !== 0) throw new Error(`mkfifo: ${made.stderr.trim()}`);
    for (const path of paths) this.#ready.push(openEnds(path));
  }
}

const openStream = ({ reader, child }: PipeEnds): Pipe => ({
  child,
  stream: new Socket({ fd: reader, readable: true, writable: false }),
});

function openEnds(path: string): PipeEnds {
  // Without O_NONBLOCK this would wait for a writer. With a reader present, the writer's end opens at once.
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const child = openSync(path, constants.O_WRONLY);
  unlinkSync(path);
  return { reader, child };
}

/**
 * Closes the node's copies of the ends that the processes have now, so that the stream ends when the
 * processes close theirs.
 */
export function closeChildEnds(pipes: readonly Pipe[]): void {
  for (const pipe of pipes) {
    closeSync(pipe.child);
  }
}
