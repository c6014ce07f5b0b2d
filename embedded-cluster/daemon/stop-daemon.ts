import { readdir, readFile, realpath } from 'node:fs/promises';
import { ProductError } from '../../src/errors/product-error.ts';
import { systemClock, type Clock } from '../../src/platform/clock.ts';
import { poll } from '../../src/platform/poll.ts';
import { mountsAtOrBelow, parseMountInfo } from '../../src/platform/mountinfo.ts';
import { checkOwner } from './cluster-state.ts';
import { findProcess, isAlive, type ProcessRecord } from './process-record.ts';

export interface StopOptions {
  /** Milliseconds for the pods to stop by themselves; 15 s if absent. */
  readonly grace?: number;
  readonly clock?: Clock;
}

const pollInterval = 20;
const killDeadline = 10_000;
const leftoverDeadline = 5000;

/**
 * Stops the cluster of this directory: SIGTERM, which stops its pods, then SIGKILL for the whole cluster
 * after the grace period. Idempotent. Resolves when no process and no mount of it is left; its data stays.
 * Rejects with CLUSTER_STOP. If the cluster belongs to another user, it rejects before it changes anything.
 */
export async function stopDaemon(
  directory: string,
  options: StopOptions = {},
): Promise<{ readonly stopped: boolean }> {
  const { grace = 15_000, clock = systemClock } = options;
  await checkOwner(directory, 'stop');
  const record = await findProcess(directory);
  if (record === undefined) {
    return { stopped: false };
  }
  signal(record, 'SIGTERM');
  if (!(await untilDead(record, grace, clock))) {
    signal(record, 'SIGKILL');
    if (!(await untilDead(record, killDeadline, clock))) {
      throw new ProductError(
        'CLUSTER_STOP',
        `process ${record.pid} of the cluster in ${directory} does not end ${killDeadline / 1000} s after SIGKILL: ` +
          'a process of a pod hangs in the kernel. Look for state D in ps, and try again.',
      );
    }
  }
  await untilUnmounted(await realpath(directory), clock);
  return { stopped: true };
}

function signal(record: ProcessRecord, name: NodeJS.Signals): void {
  try {
    process.kill(record.pid, name);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EPERM') {
      throw new ProductError(
        'CLUSTER_STOP',
        `the cluster (process ${record.pid}) belongs to another user; stop it as that user`,
        { cause: error },
      );
    }
    if (code !== 'ESRCH') {
      throw error;
    }
  }
}

async function untilDead(record: ProcessRecord, deadline: number, clock: Clock): Promise<boolean> {
  const attempt = async (): Promise<true | undefined> => ((await isAlive(record)) ? undefined : true);
  return (await poll(attempt, { clock, timeoutMs: deadline, maxDelayMs: pollInterval })) === true;
}

/**
 * Waits until no process has the cluster's mounts. The unshare(1) that started the first process exits
 * shortly after it: it shares the mount namespace but not the pid namespace, so it is not killed with it.
 */
async function untilUnmounted(directory: string, clock: Clock): Promise<void> {
  const end = clock.now() + leftoverDeadline;
  for (;;) {
    const leftover = await findLeftover(directory);
    if (leftover === undefined) return;
    if (clock.now() >= end) {
      throw new ProductError(
        'CLUSTER_STOP',
        `process ${leftover.pid} still has ${leftover.target} mounted; end it, and nothing is lost`,
      );
    }
    await clock.sleep(pollInterval);
  }
}

/**
 * Searches all processes whose mount table the caller may read. Those of the cluster belong to the caller, or
 * the caller is root.
 */
async function findLeftover(
  directory: string,
): Promise<{ readonly pid: string; readonly target: string } | undefined> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const table = parseMountInfo(await readMountInfo(pid));
    const mount = mountsAtOrBelow(table, directory).find((entry) => entry.target !== directory);
    if (mount !== undefined) return { pid, target: mount.target };
  }
  return undefined;
}

async function readMountInfo(pid: string): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/mountinfo`, 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ESRCH', 'EINVAL', 'EACCES', 'EPERM'].includes(code)) {
      return '';
    }
    throw error;
  }
}
