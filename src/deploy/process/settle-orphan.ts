import type { Clock } from '../clock.ts';
import type { RunningChild } from '../lock.ts';
import { poll } from '../poll.ts';
import { isAlive } from './process-identity.ts';
import { killGroup } from './run-process.ts';

const orphanBudget = 120_000;

export interface SettleOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  readonly write: (text: string) => void;
}

/**
 * Waits for a child process that a killed run left running, because two concurrent CPI calls for the same VM
 * could create two VMs. Kills the process group if the child does not exit in time or is disposable.
 */
export async function waitForLeftoverProcess(
  orphan: RunningChild | undefined,
  options: SettleOptions,
): Promise<void> {
  if (orphan === undefined || !isAlive(orphan)) return;
  const ended = async (): Promise<true | undefined> => (isAlive(orphan) ? undefined : true);
  if (!orphan.disposable && (await waitFor(orphan, ended, options))) return;
  killGroup(orphan.pid);
  await poll(ended, { ...options, timeoutMs: orphanBudget, maxDelayMs: 500 });
}

async function waitFor(
  orphan: RunningChild,
  ended: () => Promise<true | undefined>,
  options: SettleOptions,
): Promise<true | undefined> {
  options.write(`Waiting for the ${orphan.doing} of an interrupted run to end (process ${orphan.pid})\n`);
  return poll(ended, { ...options, timeoutMs: orphanBudget, maxDelayMs: 500 });
}
