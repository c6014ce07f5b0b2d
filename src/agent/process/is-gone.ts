import type { Clock } from '../clock.ts';
import type { ProcessIdentity, ProcessTable } from './process-table.ts';

const pollMilliseconds = 100;

/** True as soon as that very process is gone, false when it still lives after `milliseconds`. */
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
