import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { isSystemError, runProgram } from '../../../platform/run-program.ts';
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

export interface MountProgramResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  /** The first 4 KiB, or 4 KiB of the last 64 KiB if the program wrote more than 64 KiB. */
  readonly stderr: string;
  /** True if the signal was aborted before the program ended. */
  readonly wasKilled: boolean;
}

const stderrLimit = 4096;

/**
 * Runs a system program in its own process group, without the environment of this process. Returns after the
 * signal is aborted, even if the kernel cannot end the program, as in a call to a dead server. Throws
 * MountError if the program cannot be started.
 */
export async function runMountProgram(run: ProgramRun): Promise<MountProgramResult> {
  if (run.signal.aborted) return { exitCode: null, stdout: '', stderr: '', wasKilled: true };
  const { exitCode, stdout, stderr, stopped } = await runProgram({
    file: run.program,
    args: run.args,
    environment: { PATH: run.searchPath, LC_ALL: 'C', ...run.secret?.environment },
    directory: '/',
    secret: run.secret?.text,
    signal: run.signal,
    endTimeoutMs: 1000,
    stdoutLimit: run.outputLimit ?? 0,
  }).catch((error: unknown) => {
    throw isSystemError(error) ? cannotStart(run.program, error) : error;
  });
  return {
    exitCode: exitCode ?? null,
    stdout,
    stderr: stderr.slice(0, stderrLimit),
    wasKilled: stopped !== undefined && exitCode === undefined,
  };
}

export function cannotStart(program: string, error: NodeJS.ErrnoException): MountError {
  return new MountError(
    'NOT_SUPPORTED',
    `The program '${program}' cannot be started on this machine (${error.code ?? error.message}); install it`,
    { cause: error },
  );
}

/** The process names of mount(8) and its helpers. */
export const mountPrograms: readonly string[] = ['mount', 'mount.nfs', 'mount.nfs4', 'mount.cifs'];

/** Milliseconds to wait for the end of killed programs. */
const killTimeoutMs = 1000;

/**
 * Kills the processes with one of these names that have one of `paths` as an argument, and waits for their
 * end, a second at most. A previous driver process may have started them. A user who imitates such a command
 * line only gets their own process killed.
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
