import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

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
  return pid === undefined || startTime === undefined || bootId === undefined
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
  const record = parseProcessRecord((await readIfThere(join(directory, 'process'))) ?? '');
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
