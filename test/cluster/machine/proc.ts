import { readdir, readFile, readlink } from 'node:fs/promises';
import { isAlive, type ProcessRecord } from '../../../embedded-cluster/daemon/process-record.ts';

const gone = new Set(['ENOENT', 'ESRCH', 'EACCES']);

async function unlessGone<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (gone.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/**
 * Returns what distinguishes the process from a later one with the same pid, or undefined if there is none.
 */
export async function recordOf(pid: number): Promise<ProcessRecord | undefined> {
  const stat = await unlessGone(readFile(`/proc/${pid}/stat`, 'utf8'));
  const startTime = stat?.slice(stat.lastIndexOf(') ') + 2).split(' ')[19];
  if (startTime === undefined) return undefined;
  const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const record = { pid, startTime, bootId };
  return (await isAlive(record)) ? record : undefined;
}

/** Returns true if exactly this process still runs in this boot of the machine. */
export async function runs(record: ProcessRecord): Promise<boolean> {
  const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  return record.bootId === bootId && (await isAlive(record));
}

/**
 * Returns true if nothing of the process is left. It is a zombie as soon as its first thread has ended, while
 * other threads may still have its files and ports open.
 */
export async function hasEnded(record: ProcessRecord): Promise<boolean> {
  if (await runs(record)) return false;
  const stat = (await unlessGone(readFile(`/proc/${record.pid}/stat`, 'utf8'))) ?? '';
  if (stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[19] !== record.startTime) return true;
  const threads = (await unlessGone(readdir(`/proc/${record.pid}/task`))) ?? [];
  return threads.length <= 1;
}

export async function childrenOf(pid: number): Promise<number[]> {
  const text = (await unlessGone(readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'))) ?? '';
  return text.split(' ').filter(Boolean).map(Number);
}

/**
 * Returns the pids of the processes in the same pid namespace as `pid`, without those in child namespaces.
 */
export async function pidNamespaceOf(pid: number): Promise<number[]> {
  const namespace = await readlink(`/proc/${pid}/ns/pid`);
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const theirs = await Promise.all(all.map((each) => unlessGone(readlink(`/proc/${each}/ns/pid`))));
  return all.filter((_, index) => theirs[index] === namespace);
}

/**
 * Returns the pid of a process in its innermost pid namespace: the last value of NSpid in /proc/PID/status
 * (proc(5)).
 */
export async function innerPid(pid: number): Promise<number | undefined> {
  const status = (await unlessGone(readFile(`/proc/${pid}/status`, 'utf8'))) ?? '';
  const pids = /^NSpid:\s*(.*)$/m.exec(status)?.[1]?.split(/\s+/);
  return pids === undefined ? undefined : Number(pids.at(-1));
}
