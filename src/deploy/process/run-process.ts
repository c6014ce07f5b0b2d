import { spawn, type ChildProcess } from 'node:child_process';
import { dropFirstWord } from '../../errors/redact/whole-words.ts';

export interface ProcessRequest {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly directory?: string;
  /** Written to stdin, which is then closed. */
  readonly input?: string;
  /** How long the process may run, in milliseconds. */
  readonly deadline?: number;
  /** When aborted, the process may end by itself for `grace` milliseconds more (0 without one). */
  readonly signal?: AbortSignal | undefined;
  readonly grace?: number;
  /** Called with each whole line of stderr as it comes; lines of more than 1 KiB are left out. */
  readonly onErrorLine?: ((line: string) => void) | undefined;
  /** Called before the process gets its input. */
  readonly onStart?: ((pid: number) => void) | undefined;
}

export interface ProcessResult {
  readonly stdout: string;
  /** The last 64 KiB at most, from the beginning of a word: half a secret would be known to no redactor. */
  readonly stderr: string;
  readonly exitCode: number | undefined;
  readonly killedBy: string | undefined;
  /** Why we ended it, when we did. */
  readonly stopped: 'deadline' | 'interrupt' | undefined;
}

const stderrLimit = 64 * 1024;
const stdoutLimit = 64 * 1024 * 1024;
const lineLimit = 1024;

/**
 * Runs a program in a process group of its own, so that Ctrl-C of the terminal does not reach it and so that everything
 * it started can be ended with it. Rejects with the system's error when it cannot be started.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessResult> {
  const child = spawn(request.file, request.arguments, {
    cwd: request.directory,
    env: request.environment,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const stopping = stopWhenAsked(child, request);
  const output = collect(child);
  if (request.onErrorLine !== undefined) readLines(child, request.onErrorLine);
  try {
    await started(child);
    announce(child, request);
    const ended = closed(child);
    await feed(child, request.input ?? '');
    const { code, signal } = await ended;
    return {
      stdout: output.stdout(),
      stderr: output.stderr(),
      exitCode: code ?? undefined,
      killedBy: signal ?? undefined,
      stopped: stopping.reason(),
    };
  } finally {
    stopping.end();
  }
}

/** Ends a process group at once; one that is gone already, or has become another user's, is left alone. */
export function killGroup(pid: number): void {
  // to kill(2) -1 is every process, and 0 this one's own group
  if (!Number.isSafeInteger(pid) || pid <= 1) throw new Error(`${pid} is no process group of ours`);
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

/** A program that could not be noted must not run: nobody would find it again. */
function announce({ pid }: ChildProcess, { onStart }: ProcessRequest): void {
  if (pid === undefined) return;
  try {
    onStart?.(pid);
  } catch (error) {
    killGroup(pid);
    throw error;
  }
}

function stopWhenAsked(child: ChildProcess, request: ProcessRequest) {
  let reason: ProcessResult['stopped'];
  const timers: NodeJS.Timeout[] = [];
  const stop = (why: 'deadline' | 'interrupt'): void => {
    reason ??= why;
    if (child.pid !== undefined) killGroup(child.pid);
    // A grandchild that left the group may hold the pipes open for ever.
    child.stdout?.destroy();
    child.stderr?.destroy();
  };
  const onAbort = (): void => void timers.push(setTimeout(stop, request.grace ?? 0, 'interrupt'));
  if (request.deadline !== undefined) timers.push(setTimeout(stop, request.deadline, 'deadline'));
  if (request.signal?.aborted === true) onAbort();
  request.signal?.addEventListener('abort', onAbort, { once: true });
  return {
    reason: () => reason,
    end: () => {
      timers.forEach(clearTimeout);
      request.signal?.removeEventListener('abort', onAbort);
    },
  };
}

function collect(child: ChildProcess) {
  const stdout: Buffer[] = [];
  let stdoutSize = 0;
  let stderr = Buffer.alloc(0);
  let isCut = false;
  child.stdout?.on('data', (chunk: Buffer) => {
    stdoutSize += chunk.length;
    if (stdoutSize <= stdoutLimit) stdout.push(chunk);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    const all = Buffer.concat([stderr, chunk]);
    isCut ||= all.length > stderrLimit;
    stderr = all.subarray(-stderrLimit);
  });
  return {
    stdout: () => Buffer.concat(stdout).toString(),
    stderr: () => (isCut ? dropFirstWord(stderr.toString()) : stderr.toString()),
  };
}

function readLines({ stderr }: ChildProcess, onLine: (line: string) => void): void {
  const decoder = new TextDecoder();
  let rest = '';
  stderr?.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    // what is longer than a line may be is kept no longer than that, and left out when its end comes
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

async function closed(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
}

/** A program that ends without reading its input is not an error here: its exit code and output say what happened. */
async function feed(child: ChildProcess, input: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.stdin?.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EPIPE' || error.code === 'ECONNRESET' ? resolve() : reject(error),
    );
    child.stdin?.once('close', resolve);
    child.stdin?.end(input);
  });
}
