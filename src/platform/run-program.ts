import { spawn, type ChildProcess } from 'node:child_process';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProductError } from '../errors/product-error.ts';
import { dropFirstWord } from '../errors/text.ts';

export interface ProgramRequest {
  /** A path, or a name that is looked up in the PATH of `environment`. */
  readonly file: string;
  /** The arguments are passed unchanged; no shell splits or expands them. */
  readonly args: readonly string[];
  /** The whole environment of the program. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly directory?: string | undefined;
  /** Text for stdin, which is then closed. */
  readonly input?: string | undefined;
  /** Text that the program reads on descriptor 3. */
  readonly secret?: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** When it is aborted, the program has `graceMs` milliseconds (default 0) to exit by itself. */
  readonly signal?: AbortSignal | undefined;
  readonly graceMs?: number | undefined;
  /**
   * Milliseconds to wait for the end of the killed program, which the kernel cannot end during a call to a
   * dead file server, and for output after the program has exited, because a background process may keep the
   * pipes open. By default both waits have no limit.
   */
  readonly endTimeoutMs?: number | undefined;
  /** Maximum bytes of stdout to keep (default 64 MiB). */
  readonly stdoutLimit?: number | undefined;
  /** Called with each complete line of stderr as it arrives. Lines of more than 4 KiB are skipped. */
  readonly onErrorLine?: ((line: string) => void) | undefined;
  /** Called before the program gets its input. */
  readonly onStart?: ((pid: number) => void) | undefined;
}

export interface ProgramResult {
  readonly stdout: string;
  /** True if the program wrote more than `stdoutLimit`. */
  readonly isStdoutCut: boolean;
  /**
   * At most the last 64 KiB, truncated at a word boundary, so that redaction still recognises whole secrets.
   */
  readonly stderr: string;
  readonly exitCode: number | undefined;
  readonly killedBy: string | undefined;
  /**
   * The reason if this function killed the program. Undefined if the program had exited before, and only its
   * output was still waited for.
   */
  readonly stopped: 'deadline' | 'interrupt' | undefined;
}

const stderrLimit = 64 * 1024;
const defaultStdoutLimit = 64 * 1024 * 1024;
const lineLimit = 4096;

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Runs a program in its own process group. So the terminal's Ctrl-C does not reach it, and all processes that
 * it started can be killed with it. Rejects with the system's error if the program cannot be started, and
 * with SIGNAL_REFUSED if it cannot be killed.
 */
export async function runProgram(request: ProgramRequest): Promise<ProgramResult> {
  const child = spawn(request.file, request.args, {
    cwd: request.directory,
    env: request.environment,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', ...(request.secret === undefined ? [] : (['pipe'] as const))],
  });
  const stopping = stopOnAbort(child, request);
  const output = collect(child, request.stdoutLimit ?? defaultStdoutLimit);
  if (request.onErrorLine !== undefined) readLines(child, request.onErrorLine);
  try {
    await started(child);
    announce(child, request);
    const exit = Promise.race([closed(child, request.endTimeoutMs), stopping.givenUp]);
    // A background process may keep descriptor 3 open, so after the exit the end of a write is not awaited.
    const { code, signal } = await Promise.race([exit, writeInputs(child, request).then(() => exit)]);
    return {
      stdout: output.stdout(),
      isStdoutCut: output.isStdoutCut(),
      stderr: output.stderr(),
      exitCode: code ?? undefined,
      killedBy: signal ?? undefined,
      stopped: stopping.reason(),
    };
  } finally {
    stopping.end();
    for (const stream of child.stdio) stream?.destroy();
    child.unref();
  }
}

/** Returns true if runProgram rejected with the system's error, because the program cannot be started. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

/**
 * Sends a signal to a process group, identified by its leader's process id. Ignores a group that does not
 * exist. Throws SIGNAL_REFUSED if all its processes belong to another user.
 */
export function signalGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  // For kill(2), -1 means every process, and 0 the process group of the caller.
  if (!Number.isSafeInteger(pid) || pid <= 1) throw new Error(`${pid} is not the process group of a program`);
  try {
    process.kill(-pid, signal);
  } catch (error) {
    const code = isSystemError(error) ? error.code : undefined;
    if (code === 'EPERM') throw refusedSignal(pid, signal, error);
    if (code !== 'ESRCH') throw error;
  }
}

function refusedSignal(pid: number, signal: string, cause: unknown): ProductError {
  return new ProductError(
    'SIGNAL_REFUSED',
    `Process group ${pid} cannot be ended with ${signal}, because it belongs to another user; end it as that user, then run the same command again`,
    { cause },
  );
}

/**
 * Reports the pid to the caller. If the caller cannot record it, the program is killed, because no later run
 * could find it.
 */
function announce({ pid }: ChildProcess, { onStart }: ProgramRequest): void {
  if (pid === undefined) return;
  try {
    onStart?.(pid);
  } catch (error) {
    signalGroup(pid, 'SIGKILL');
    throw error;
  }
}

/** Kills the program at its deadline or after an interrupt. Does not signal a program that has exited. */
function stopOnAbort(child: ChildProcess, request: ProgramRequest) {
  let reason: ProgramResult['stopped'];
  const timers: NodeJS.Timeout[] = [];
  const { promise: givenUp, resolve: giveUp, reject } = Promise.withResolvers<Exit>();
  const kill = (pid: number, why: 'deadline' | 'interrupt'): void => {
    reason ??= why;
    try {
      signalGroup(pid, 'SIGKILL');
    } catch (error) {
      reject(error);
    }
    if (request.endTimeoutMs !== undefined)
      timers.push(setTimeout(giveUp, request.endTimeoutMs, { code: null, signal: 'SIGKILL' }));
  };
  const stop = (why: 'deadline' | 'interrupt'): void => {
    // The kernel may have given the process id of a program that has exited to another process.
    const hasExited = child.exitCode !== null || child.signalCode !== null;
    if (!hasExited && child.pid !== undefined) kill(child.pid, why);
    // A grandchild that left the process group may keep the pipes open forever.
    for (const stream of child.stdio) stream?.destroy();
  };
  const onAbort = (): void => void timers.push(setTimeout(stop, request.graceMs ?? 0, 'interrupt'));
  if (request.timeoutMs !== undefined) timers.push(setTimeout(stop, request.timeoutMs, 'deadline'));
  if (request.signal?.aborted === true) onAbort();
  request.signal?.addEventListener('abort', onAbort, { once: true });
  return {
    givenUp,
    reason: () => reason,
    end: () => {
      timers.forEach(clearTimeout);
      request.signal?.removeEventListener('abort', onAbort);
    },
  };
}

function collect(child: ChildProcess, stdoutLimit: number) {
  const stdout: Buffer[] = [];
  let stdoutSize = 0;
  let stderr = Buffer.alloc(0);
  let isCut = false;
  child.stdout?.on('data', (chunk: Buffer) => {
    if (stdoutSize < stdoutLimit) stdout.push(chunk.subarray(0, stdoutLimit - stdoutSize));
    stdoutSize += chunk.length;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    const all = Buffer.concat([stderr, chunk]);
    isCut ||= all.length > stderrLimit;
    stderr = all.subarray(-stderrLimit);
  });
  return {
    stdout: () => Buffer.concat(stdout).toString(),
    isStdoutCut: () => stdoutSize > stdoutLimit,
    stderr: () => (isCut ? dropFirstWord(stderr.toString()) : stderr.toString()),
  };
}

function readLines({ stderr }: ChildProcess, onLine: (line: string) => void): void {
  const decoder = new TextDecoder();
  let rest = '';
  stderr?.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    // The number of characters that are kept of a line that is too long. The rest of the line is skipped.
    rest = (lines.pop() ?? '').slice(0, lineLimit + 1);
    for (const line of lines) if (line.length <= lineLimit) onLine(line);
  });
}

async function started(child: ChildProcess): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
}

/** Returns the exit of the program when its output is complete, or `timeoutMs` after its end. */
async function closed(child: ChildProcess, timeoutMs: number | undefined): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
    if (timeoutMs !== undefined)
      child.once('exit', (code, signal) => {
        void sleep(timeoutMs, undefined, { ref: false }).then(() => resolve({ code, signal }));
      });
  });
}

async function writeInputs(child: ChildProcess, { input, secret }: ProgramRequest): Promise<void> {
  await Promise.all([
    writeInput(child.stdin, input ?? ''),
    ...(secret === undefined ? [] : [writeInput(child.stdio[3] as Writable, secret)]),
  ]);
}

/**
 * Writes the input. A program that exits without reading it is not an error here: its exit code and output
 * explain the failure.
 */
async function writeInput(stream: Writable | null, input: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream?.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EPIPE' || error.code === 'ECONNRESET' ? resolve() : reject(error),
    );
    stream?.once('close', resolve);
    stream?.end(input);
  });
}
