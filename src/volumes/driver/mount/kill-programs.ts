import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

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
  const found = (await Promise.all(pids.map(async (pid) => ((await isOne(pid)) ? [pid] : [])))).flat();
  for (const pid of found) kill(Number(pid));
  const deadline = AbortSignal.timeout(killTimeoutMs);
  for (const pid of found) while (!deadline.aborted && (await isOne(pid))) await pause(10);
}

function kill(pid: number): void {
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
