import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { isAlive, type ProcessRecord } from '../../../embedded-cluster/daemon/process-record.ts';
import { until } from '../../support/until.ts';
import { writeJson } from './write-whole.ts';

const endedCodes = new Set(['ENOENT', 'ESRCH', 'EACCES']);

async function undefinedIfEnded<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (endedCodes.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/**
 * Returns what distinguishes the process from a later one with the same pid, or undefined if there is none.
 */
export async function recordOf(pid: number): Promise<ProcessRecord | undefined> {
  const stat = await undefinedIfEnded(readFile(`/proc/${pid}/stat`, 'utf8'));
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
  const stat = (await undefinedIfEnded(readFile(`/proc/${record.pid}/stat`, 'utf8'))) ?? '';
  if (stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[19] !== record.startTime) return true;
  const threads = (await undefinedIfEnded(readdir(`/proc/${record.pid}/task`))) ?? [];
  return threads.length <= 1;
}

export async function childrenOf(pid: number): Promise<number[]> {
  const text = (await undefinedIfEnded(readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'))) ?? '';
  return text.split(' ').filter(Boolean).map(Number);
}

/**
 * Returns the pids of the processes in the same pid namespace as `pid`, without those in child namespaces.
 */
export async function pidNamespaceOf(pid: number): Promise<number[]> {
  const namespace = await readlink(`/proc/${pid}/ns/pid`);
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const namespaces = await Promise.all(all.map((each) => undefinedIfEnded(readlink(`/proc/${each}/ns/pid`))));
  return all.filter((_, index) => namespaces[index] === namespace);
}

/**
 * Returns the pid of a process in its innermost pid namespace: the last value of NSpid in /proc/PID/status
 * (proc(5)).
 */
export async function innerPid(pid: number): Promise<number | undefined> {
  const status = (await undefinedIfEnded(readFile(`/proc/${pid}/status`, 'utf8'))) ?? '';
  const pids = /^NSpid:\s*(.*)$/m.exec(status)?.[1]?.split(/\s+/);
  return pids === undefined ? undefined : Number(pids.at(-1));
}

/** Returns false if the process does not exist. */
async function signal(record: ProcessRecord, name: NodeJS.Signals): Promise<boolean> {
  if (!(await runs(record))) return false;
  try {
    process.kill(record.pid, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/**
 * Ends a process and waits until it has exited. Sends SIGKILL if it has not exited `graceMs` after SIGTERM.
 */
export async function end(record: ProcessRecord, graceMs: number): Promise<void> {
  const isEnded = (): Promise<boolean> => hasEnded(record);
  if (graceMs > 0 && (await signal(record, 'SIGTERM'))) {
    const deadline = Date.now() + graceMs;
    await until('an end', async () => (await isEnded()) || Date.now() > deadline, graceMs + 60_000);
  }
  await signal(record, 'SIGKILL');
  await until(`process ${record.pid} to end`, isEnded);
}

/** A started process and its definition. `up` restarts a process whose definition has changed. */
export interface Started extends ProcessRecord {
  readonly command: readonly string[];
}

export async function readRecord(path: string): Promise<Started | undefined> {
  try {
    const started = JSON.parse(await readFile(path, 'utf8')) as Started;
    return (await runs(started)) ? started : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export async function writeRecord(path: string, started: Started): Promise<void> {
  await writeJson(path, started);
}

export async function removeRecord(path: string): Promise<void> {
  await rm(path, { force: true });
}
