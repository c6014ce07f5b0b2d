import { spawn, type ChildProcess } from 'node:child_process';
import { dropFirstWord } from '../../errors/text.ts';

export interface ProcessRequest {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly directory?: string;
  /** Text for stdin, which is then closed. */
  readonly input?: string;
  /** Timeout in milliseconds. */
  readonly deadline?: number;
  /** When it is aborted, the process has `grace` milliseconds (default 0) to exit by itself. */
  readonly signal?: AbortSignal | undefined;
  readonly grace?: number;
  /** Called with each complete line of stderr as it arrives. Lines of more than 1 KiB are skipped. */
  readonly onErrorLine?: ((line: string) => void) | undefined;
  /** Called before the process gets its input. */
  readonly onStart?: ((pid: number) => void) | undefined;
}

export interface ProcessResult {
  readonly stdout: string;
  /**
   * At most the last 64 KiB, truncated at a word boundary, so that redaction still recognises whole secrets.
   */
  readonly stderr: string;
  readonly exitCode: number | undefined;
  readonly killedBy: string | undefined;
  /** The reason if this function killed the process. */
  readonly stopped: 'deadline' | 'interrupt' | undefined;
}

const stderrLimit = 64 * 1024;
const stdoutLimit = 64 * 1024 * 1024;
const lineLimit = 1024;

/**
 * Runs a program in its own process group. So the terminal's Ctrl-C does not reach it, and all processes that
 * it started can be killed with it. Rejects with the system's error if the program cannot be started.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessResult> {
  const child = spawn(request.file, request.arguments, {
    cwd: request.directory,
    env: request.environment,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const stopping = stopOnAbort(child, request);
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

/** Kills a process group. Ignores a group that does not exist or that now belongs to another user. */
export function killGroup(pid: number): void {
  // For kill(2), -1 means every process, and 0 the process group of the caller.
  if (!Number.isSafeInteger(pid) || pid <= 1) throw new Error(`${pid} is no process group of ours`);
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

/**
 * Reports the pid to the caller. If the caller cannot record it, the program is killed, because no later run
 * could find it.
 */
function announce({ pid }: ChildProcess, { onStart }: ProcessRequest): void {
  if (pid === undefined) return;
  try {
    onStart?.(pid);
  } catch (error) {
    killGroup(pid);
    throw error;
  }
}

function stopOnAbort(child: ChildProcess, request: ProcessRequest) {
  let reason: ProcessResult['stopped'];
  const timers: NodeJS.Timeout[] = [];
  const stop = (why: 'deadline' | 'interrupt'): void => {
    reason ??= why;
    if (child.pid !== undefined) killGroup(child.pid);
    // A grandchild that left the process group may keep the pipes open for ever.
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
    // Of a line that is too long only this much is kept. It is skipped when its end arrives.
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

/**
 * Writes the input. A program that exits without reading it is no error here: its exit code and output tell
 * what happened.
 */
async function feed(child: ChildProcess, input: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.stdin?.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EPIPE' || error.code === 'ECONNRESET' ? resolve() : reject(error),
    );
    child.stdin?.once('close', resolve);
    child.stdin?.end(input);
  });
}
