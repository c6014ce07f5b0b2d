import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readOwnFile } from '../../platform/read-file.ts';

/** The first process of a cluster, written down by init.sh before it touches anything. */
export interface ProcessRecord {
  readonly pid: number;
  /** Clock ticks since boot, proc(5) stat field 22: tells a process from a later one of the same pid. */
  readonly startTime: string;
  readonly bootId: string;
}

export function parseProcessRecord(text: string): ProcessRecord | undefined {
  const match = /^(\d+) (\d+) ([0-9a-f-]+)$/.exec(text.trim());
  const [, pid, startTime, bootId] = match ?? [];
  // process 1 of the machine is no cluster's
  return pid === undefined || startTime === undefined || bootId === undefined || Number(pid) <= 1
    ? undefined
    : { pid: Number(pid), startTime, bootId };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH') {
      return undefined;
    }
    throw error;
  }
}

/**
 * The first process of the cluster in that directory, while it lives. The kernel ends it after every other process
 * of its namespace (pid_namespaces(7)), so that `undefined` means: nothing of that cluster runs.
 */
export async function findProcess(directory: string): Promise<ProcessRecord | undefined> {
  const record = parseProcessRecord((await readOwnFile(join(directory, 'process'))) ?? '');
  if (
    record === undefined ||
    record.bootId !== (await readIfThere('/proc/sys/kernel/random/boot_id'))?.trim()
  ) {
    return undefined;
  }
  return (await isAlive(record)) ? record : undefined;
}

/** False for a zombie: the namespace of a dead first process is empty. */
export async function isAlive(record: ProcessRecord): Promise<boolean> {
  const stat = await readIfThere(`/proc/${record.pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(') ') + 2).split(' ');
  const state = fields?.[0];
  return fields?.[19] === record.startTime && state !== 'Z' && state !== 'X';
}

/** include/linux/sched.h: PF_EXITING, in proc(5) stat field 9. */
const exiting = 0x4;
/** The bit of SIGKILL in proc(5) status, SigPnd and ShdPnd. */
const killPending = 0x100n;

async function isKilled(pid: number): Promise<boolean> {
  const stat = await readIfThere(`/proc/${pid}/stat`);
  const status = await readIfThere(`/proc/${pid}/status`);
  if (stat === undefined || status === undefined) {
    return true;
  }
  const flags = Number(stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[6]);
  const pending = [...status.matchAll(/^S(?:ig|hd)Pnd:\s*([0-9a-f]+)$/gm)];
  return (
    (flags & exiting) !== 0 || pending.some(([, mask = '0']) => (BigInt(`0x${mask}`) & killPending) !== 0n)
  );
}

/**
 * Whether that process, or the unshare(1) whose death is its own, was killed and is only not gone yet. Its API may still
 * answer then.
 */
export async function isEnding({ pid }: ProcessRecord): Promise<boolean> {
  const stat = (await readIfThere(`/proc/${pid}/stat`)) ?? '';
  const parent = Number(stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[1]);
  return (await isKilled(pid)) || (parent !== 0 && (await isKilled(parent)));
}
