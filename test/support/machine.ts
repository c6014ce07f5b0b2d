import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';

/** A process of this machine. */
export interface MachineProcess {
  readonly pid: number;
  /** Clock ticks since boot; distinguishes the process from a later one with the same pid. */
  readonly startTime: string;
  readonly command: string;
}

async function readProcFile(pid: number, file: string): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ESRCH', 'EINVAL', 'EACCES', 'EPERM'].includes(code)) return '';
    throw error;
  }
}

async function pids(): Promise<number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
}

/** Returns the process; undefined if it has ended or is a zombie. */
async function processOf(pid: number): Promise<MachineProcess | undefined> {
  const stat = await readProcFile(pid, 'stat');
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
  const startTime = fields[19];
  if (startTime === undefined || fields[0] === 'Z' || fields[0] === 'X') return undefined;
  const command = (await readProcFile(pid, 'cmdline')).replaceAll('\0', ' ').trim();
  return { pid, startTime, command };
}

/** Returns the part of `directory` that shows in every mount table: paths there may start at another root. */
function uniqueWord(directory: string): string {
  const word = basename(directory);
  assert.match(word, /-[A-Za-z0-9]{6,}$/, `${word} may be the name of something else`);
  return word;
}

/**
 * Returns the processes of this machine that name `directory` in their arguments, or have a part of it
 * mounted in any mount namespace. They are recognized by the last part of the path, which must end in random
 * letters, as with mkdtemp or a uid.
 */
export async function processesOf(directory: string): Promise<MachineProcess[]> {
  const word = uniqueWord(directory);
  const found = await Promise.all(
    (await pids())
      .filter((pid) => pid !== process.pid)
      .map(async (pid) => {
        const texts = await Promise.all(['cmdline', 'mountinfo'].map((file) => readProcFile(pid, file)));
        return texts.some((text) => text.includes(word)) ? await processOf(pid) : undefined;
      }),
  );
  return found.filter((each) => each !== undefined);
}

export async function isAlive({ pid, startTime }: MachineProcess): Promise<boolean> {
  return (await processOf(pid))?.startTime === startTime;
}

/**
 * Returns the mounts at, below or from `directory` in the mount namespaces of this process and of the
 * machine's first process.
 */
export async function mountsOf(directory: string): Promise<string[]> {
  const tables = await Promise.all([readProcFile(process.pid, 'mountinfo'), readProcFile(1, 'mountinfo')]);
  return tables.flatMap((table) => table.split('\n')).filter((line) => line.includes(uniqueWord(directory)));
}

export async function parentOf(pid: number): Promise<number> {
  const stat = await readProcFile(pid, 'stat');
  return Number(stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[1]);
}

export async function childrenOf(parent: number): Promise<number[]> {
  const all = await pids();
  const parents = await Promise.all(all.map(parentOf));
  return all.filter((_, index) => parents[index] === parent);
}

/** Sends SIGKILL to a process that may have ended already. */
export function killHard(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
