import { PassThrough } from 'node:stream';
import { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { ExecRequest, ExecSession, LogRequest, PodConsole } from '../../node/pod-console.ts';

/**
 * A node that runs nothing: its containers print the lines that a test sets, and its commands are a handful
 * of built-ins.
 */
export class FakeConsole implements PodConsole {
  readonly logRequests: LogRequest[] = [];
  readonly execRequests: ExecRequest[] = [];
  readonly resizes: { columns: number; rows: number }[] = [];
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
    switch (program) {
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
        throw internalError(`exec: "${program}": executable file not found in $PATH`);
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
