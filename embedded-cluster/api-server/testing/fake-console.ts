import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { ExecRequest, ExecSession, LogRequest, PodConsole } from '../../node/pod-console.ts';

/** The output and the exit code of a program. */
export interface FakeExit {
  readonly exitCode: number;
  readonly stdout?: string | Uint8Array;
  readonly stderr?: string;
}

/**
 * A node that runs nothing: its containers print the lines that a test sets, and its commands are a handful
 * of built-ins.
 */
export class FakeConsole implements PodConsole {
  readonly logRequests: LogRequest[] = [];
  readonly execRequests: ExecRequest[] = [];
  readonly resizes: { columns: number; rows: number }[] = [];
  /** Programs that a test adds, by their names. They end when their input ends. */
  readonly programs = new Map<string, (args: readonly string[]) => FakeExit>();
  killed = 0;
  readonly #log = new PassThrough();
  #lines: string[] = [];

  /** Prints a line, also to followers of the log. */
  print(line: string): void {
    this.#lines.push(line);
    this.#log.emit('line', line);
  }

  /** Ends the container and its log, also for followers. */
  endLog(): void {
    this.#log.emit('ended');
  }

  async *logs(request: LogRequest): AsyncIterable<Uint8Array> {
    this.logRequests.push(request);
    if (request.previous)
      throw badRequest(
        `previous terminated container "${request.container}" in pod "${request.pod}" not found`,
      );
    const queue: string[] = this.#lines.slice(request.tailLines === undefined ? 0 : -request.tailLines);
    let ended = !request.follow;
    let wake = (): void => {};
    const add = (line: string): void => {
      queue.push(line);
      wake();
    };
    const end = (): void => {
      ended = true;
      wake();
    };
    this.#log.on('line', add).on('ended', end);
    request.signal.addEventListener('abort', end);
    try {
      for (;;) {
        const line = queue.shift();
        if (line !== undefined) yield Buffer.from(`${line}\n`);
        else if (ended) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#log.off('line', add).off('ended', end);
    }
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    this.execRequests.push(request);
    const [program, ...args] = request.command;
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const finished = Promise.withResolvers<{ exitCode: number }>();
    const finish = (exitCode: number): void => {
      stdout.end();
      stderr.end();
      finished.resolve({ exitCode });
    };
    const added = this.programs.get(program ?? '')?.(args);
    switch (added === undefined ? program : undefined) {
      case 'echo':
        stdout.write(`${args.join(' ')}\n`);
        finish(0);
        break;
      case 'fail':
        stderr.write('it failed\n');
        finish(Number(args[0] ?? 1));
        break;
      case 'cat':
        stdin.pipe(stdout, { end: false });
        stdin.on('end', () => finish(0));
        break;
      case 'wait':
        break;
      default:
        if (added === undefined)
          throw internalError(`exec: "${program}": executable file not found in $PATH`);
        stderr.write(added.stderr ?? '');
        if (!request.stdin) stdin.end();
        void Promise.all([writeSlices(stdout, added.stdout ?? ''), once(stdin.resume(), 'end')]).then(() =>
          finish(added.exitCode),
        );
    }
    return {
      stdin: request.stdin ? stdin : undefined,
      stdout,
      stderr,
      exited: finished.promise,
      resize: (columns, rows) => void this.resizes.push({ columns, rows }),
      kill: () => {
        this.killed += 1;
        finish(137);
      },
    };
  }
}

/** Writes as a program does: not more at a time than its reader takes. */
async function writeSlices(stream: PassThrough, content: string | Uint8Array): Promise<void> {
  const bytes = Buffer.from(content);
  for (let start = 0; start < bytes.length; start += 65_536)
    if (!stream.write(bytes.subarray(start, start + 65_536))) await once(stream, 'drain');
}

function badRequest(message: string): ApiError {
  return new ApiError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: 'BadRequest',
    code: 400,
    message,
  });
}

function internalError(message: string): ApiError {
  return new ApiError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: 'InternalError',
    code: 500,
    message,
  });
}
