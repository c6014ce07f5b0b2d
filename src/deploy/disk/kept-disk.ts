import { oneLine } from '../../errors/one-line.ts';
import { currentDisk } from '../state/state-changes.ts';
import type { DeploymentState, DiskRecord } from '../state/deployment-state.ts';
import { planDisk, type WantedDisk } from './plan-disk.ts';

/** The current disk where the manifest asks for none: recorded, not deleted, and not attached, as with bosh. */
export function unusedCurrentDisk(
  state: DeploymentState,
  wanted: WantedDisk | undefined,
): DiskRecord | undefined {
  return planDisk(state, wanted).action === 'none' ? currentDisk(state) : undefined;
}

/** Says so to whoever misses it, or pays for it. */
export function describeKeptDisk({ cid }: DiskRecord): string {
  return (
    `Disk '${oneLine(cid)}' is kept and not attached: the manifest asks for none. ` +
    'A persistent disk in the manifest brings it, or its content, back; delete-env deletes it'
  );
}
