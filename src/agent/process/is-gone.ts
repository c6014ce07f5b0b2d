import type { Clock } from '../clock.ts';
import type { ProcessIdentity, ProcessTable } from './process-table.ts';

const pollMilliseconds = 100;

/**
 * Waits until a process has ended. Returns true when it has, or false if it still runs after `milliseconds`.
 * Another process with the same pid counts as ended.
 */
export async function waitUntilGone(
  ports: { readonly table: ProcessTable; readonly clock: Clock },
  identity: ProcessIdentity,
  milliseconds: number,
): Promise<boolean> {
  const deadline = ports.clock.now() + milliseconds;
  for (;;) {
    const live = await ports.table.find(identity.pid);
    if (live?.startTicks !== identity.startTicks) return true;
    if (ports.clock.now() >= deadline) return false;
    await ports.clock.sleep(pollMilliseconds);
  }
}
