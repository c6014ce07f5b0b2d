import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { MountError } from './mount-error.ts';

export interface ProgramRun {
  /** The name of the program, which is looked up in `searchPath`. */
  readonly program: string;
  readonly args: readonly string[];
  readonly searchPath: string;
  /** Aborted at the deadline. Then the program and everything that it started are killed. */
  readonly signal: AbortSignal;
  /** Maximum bytes of the standard output to keep. Without it nothing is kept. */
  readonly outputLimit?: number | undefined;
  /** Text that the program reads on descriptor 3, and the environment that names the descriptor. */
  readonly secret?:
    | { readonly text: string; readonly environment: Readonly<Record<string, string>> }
    | undefined;
}

export interface ProgramResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  /** The first 4 KiB. */
  readonly stderr: string;
  /** True if the signal was aborted before the program ended. */
  readonly wasKilled: boolean;
}

const stderrLimit = 4096;
/** Milliseconds to wait for the end of a killed program, and for the output of one that has ended. */
const grace = 1000;

/**
 * Runs a system program in its own process group, without the environment of this process. Returns after the
 * signal is aborted, even if the kernel cannot end the program, as in a call to a dead server. Throws
 * MountError if the program cannot be started.
 */
export async function runProgram(run: ProgramRun): Promise<ProgramResult> {
  if (run.signal.aborted) return { exitCode: null, stdout: '', stderr: '', wasKilled: true };
  const child = spawn(run.program, run.args, {
    cwd: '/',
    detached: true,
    env: { PATH: run.searchPath, LC_ALL: 'C', ...run.secret?.environment },
    stdio: [
      'ignore',
      run.outputLimit === undefined ? 'ignore' : 'pipe',
      'pipe',
      run.secret === undefined ? 'ignore' : 'pipe',
    ],
  });
  const stdout = readHead(child.stdout, run.outputLimit ?? 0);
  const stderr = readHead(child.stderr, stderrLimit);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(cannotStart(run.program, error)));
    child.once('exit', resolve);
  });
  let wasKilled = false;
  const kill = (): void => {
    wasKilled = child.exitCode === null && child.signalCode === null;
    if (wasKilled && child.pid !== undefined) killGroup(child.pid);
  };
  const aborted = new Promise<void>((resolve) =>
    run.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  run.signal.addEventListener('abort', kill, { once: true });
  try {
    if (run.secret !== undefined) writeSecret(child.stdio[3] as Writable, run.secret.text);
    const exitCode = await Promise.race([ended, aborted.then(() => pause(grace, null, { ref: false }))]);
    // a daemon that the program started may keep its stderr open
    await Promise.race([closed, pause(grace, undefined, { ref: false })]);
    return { exitCode, stdout: stdout(), stderr: stderr(), wasKilled };
  } finally {
    run.signal.removeEventListener('abort', kill);
    child.stdout?.destroy();
    child.stderr?.destroy();
    child.unref();
  }
}

/** Sends SIGKILL to a process group. Does nothing if it has ended. */
export function killGroup(pid: number): void {
  // kill(2) treats -1 as every process, and 0 as the caller's own group
  if (!Number.isSafeInteger(pid) || pid <= 1) throw new Error(`${pid} is not the process group of a program`);
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export function cannotStart(program: string, error: NodeJS.ErrnoException): MountError {
  return new MountError(
    'NOT_SUPPORTED',
    `The program '${program}' cannot be started on this machine (${error.code ?? error.message}); install it`,
    { cause: error },
  );
}

function readHead(stream: Readable | null, limit: number): () => string {
  let text = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (chunk: string) => (text = (text + chunk).slice(0, limit)));
  return () => text;
}

/**
 * Writes the secret. Ignores a broken pipe: the exit code of a program that ends without reading explains the
 * failure.
 */
function writeSecret(stream: Writable, secret: string): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error;
  });
  stream.end(secret);
}

/** The process names of mount(8) and its helpers. */
export const mountPrograms: readonly string[] = ['mount', 'mount.nfs', 'mount.nfs4', 'mount.cifs'];

/** Milliseconds to wait for the end of killed programs. */
const killTimeoutMs = 1000;

/**
 * Kills the processes with one of these names that have one of `paths` as an argument, and waits for their
 * end, a second at most. They may be of an earlier driver process. A user who imitates such a command line
 * only gets their own process killed.
 */
export async function killProcessesByArgument(
  names: readonly string[],
  paths: readonly string[],
): Promise<void> {
  const isOne = async (pid: string): Promise<boolean> => {
    // checks comm first: reading cmdline may hang for a process that waits for a dead mount
    if (!names.includes((await procFile(pid, 'comm')).trimEnd())) return false;
    return (await procFile(pid, 'cmdline')).split('\0').some((arg) => paths.includes(arg));
  };
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name));
  const matching = (await Promise.all(pids.map(async (pid) => ((await isOne(pid)) ? [pid] : [])))).flat();
  for (const pid of matching) killProcess(Number(pid));
  const deadline = AbortSignal.timeout(killTimeoutMs);
  for (const pid of matching) while (!deadline.aborted && (await isOne(pid))) await pause(10);
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function procFile(pid: string, name: string): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/${name}`, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}
