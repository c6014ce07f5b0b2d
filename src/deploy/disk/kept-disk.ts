import { oneLine } from '../../errors/text.ts';
import { currentDisk } from '../state/state-changes.ts';
import type { DeploymentState, DiskRecord } from '../state/deployment-state.ts';
import { planDisk, type WantedDisk } from './plan-disk.ts';

/**
 * Returns the current disk if the manifest has no persistent disk. As in bosh, such a disk is recorded and
 * neither deleted nor attached.
 */
export function unusedCurrentDisk(
  state: DeploymentState,
  wanted: WantedDisk | undefined,
): DiskRecord | undefined {
  return planDisk(state, wanted).action === 'none' ? currentDisk(state) : undefined;
}

/**
 * Returns the message that tells the operator about the disk, whose data is not available and which may cost
 * money.
 */
export function describeKeptDisk({ cid }: DiskRecord): string {
  return (
    `Disk '${oneLine(cid)}' is kept and not attached: the manifest asks for none. ` +
    'A persistent disk in the manifest brings it, or its content, back; delete-env deletes it'
  );
}
