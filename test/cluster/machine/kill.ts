import type { ProcessRecord } from '../../../embedded-cluster/daemon/process-record.ts';
import { until } from '../../support/until.ts';
import { hasEnded, runs } from './proc.ts';

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
  const isGone = (): Promise<boolean> => hasEnded(record);
  if (graceMs > 0 && (await signal(record, 'SIGTERM'))) {
    const deadline = Date.now() + graceMs;
    await until('an end', async () => (await isGone()) || Date.now() > deadline, graceMs + 60_000);
  }
  await signal(record, 'SIGKILL');
  await until(`process ${record.pid} to end`, isGone);
}
