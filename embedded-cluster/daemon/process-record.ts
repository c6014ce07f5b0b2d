import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readOwnFile } from '../../src/platform/read-file.ts';

/** The first process of a cluster, recorded by init.sh before it changes anything. */
export interface ProcessRecord {
  readonly pid: number;
  /**
   * Clock ticks since boot, proc(5) stat field 22: distinguishes the process from a later one with the same
   * pid.
   */
  readonly startTime: string;
  readonly bootId: string;
}

export function parseProcessRecord(text: string): ProcessRecord | undefined {
  const match = /^(\d+) (\d+) ([0-9a-f-]+)$/.exec(text.trim());
  const [, pid, startTime, bootId] = match ?? [];
  // Process 1 of the machine never belongs to a cluster.
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
 * Returns the first process of the cluster in this directory if it is alive. The kernel ends it after every
 * other process of its namespace (pid_namespaces(7)). So `undefined` means that no process of this cluster
 * runs.
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

/** Returns whether the process lives. False for a zombie: the namespace of a dead first process is empty. */
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
 * Returns true if this process, or the unshare(1) whose death kills it, was killed or is exiting. Its API may
 * still respond then.
 */
export async function isEnding({ pid }: ProcessRecord): Promise<boolean> {
  const stat = (await readIfThere(`/proc/${pid}/stat`)) ?? '';
  const parent = Number(stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[1]);
  return (await isKilled(pid)) || (parent !== 0 && (await isKilled(parent)));
}
