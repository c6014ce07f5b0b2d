import type { Clock } from '../../platform/clock.ts';
import { isAlive, type ProcessIdentity } from '../../platform/process-identity.ts';
import { poll } from '../../platform/poll.ts';
import { signalGroup } from '../../platform/run-program.ts';

/** Why a run starts a program and waits for it. The lock file has these keys. */
export interface ChildPurpose {
  /** Description for the operator, for example `CPI call 'create_vm'`. */
  readonly doing: string;
  /**
   * True if the result is of no use after the run has ended. The program may then be killed instead of waited
   * for.
   */
  readonly disposable: boolean;
}

/** A program that a run has started and is waiting for. */
export interface RunningChild extends ProcessIdentity, ChildPurpose {}

/** Receives every program that a run starts and waits for, so that a later run can find it. */
export interface ChildWatch {
  onStart(pid: number, purpose: ChildPurpose): void;
}

const exitTimeoutMs = 120_000;

export interface LeftoverOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  readonly write: (text: string) => void;
}

/**
 * Waits for a child process that a killed run left running, because two concurrent CPI calls for the same VM
 * could create two VMs. Kills the process group if the child does not exit in time or is disposable.
 */
export async function waitForLeftoverProcess(
  child: RunningChild | undefined,
  { clock, signal, write }: LeftoverOptions,
): Promise<void> {
  if (child === undefined || !isAlive(child)) return;
  const waitForExit = (): Promise<true | undefined> =>
    poll(async () => (isAlive(child) ? undefined : true), {
      ...{ clock, signal, timeoutMs: exitTimeoutMs, maxDelayMs: 500 },
    });
  if (!child.disposable) {
    write(`Waiting for the ${child.doing} of an interrupted run to end (process ${child.pid})\n`);
    if (await waitForExit()) return;
  }
  signalGroup(child.pid, 'SIGKILL');
  await waitForExit();
}
