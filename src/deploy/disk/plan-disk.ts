import { isDeepStrictEqual } from 'node:util';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { fromJson, toJson } from '../../bosh/yaml/exact-json.ts';
import { oneLine } from '../../errors/text.ts';
import type { DeploymentState, DiskRecord } from '../state/deployment-state.ts';
import { currentDisk } from '../state/state-changes.ts';

/** The persistent disk that the manifest defines. */
export interface DesiredDisk {
  /** MiB. */
  readonly size: number;
  readonly cloudProperties: Readonly<Record<string, unknown>>;
}

export type DiskPlan =
  | { readonly action: 'none' }
  | { readonly action: 'create'; readonly desired: DesiredDisk }
  | { readonly action: 'attach'; readonly disk: DiskRecord }
  /** The current disk is attached, and its content moves to a new disk of the wanted shape. */
  | { readonly action: 'migrate'; readonly disk: DiskRecord; readonly desired: DesiredDisk };

/**
 * Decides what to do about the persistent disk. If there is no current disk, a disk of the wanted shape that
 * an earlier run created and failed to attach is used instead of creating a second one; it has never held
 * data. Migrations always use a new disk, because an earlier target may be half copied. With `isRecreated`, a
 * current disk of the wanted shape is migrated as well. A disk that the manifest no longer has is left
 * unchanged, as in bosh.
 */
export function planDisk(
  state: DeploymentState,
  desired: DesiredDisk | undefined,
  isRecreated = false,
): DiskPlan {
  if (desired === undefined || desired.size === 0) return { action: 'none' };
  const current = currentDisk(state);
  if (current !== undefined) {
    return hasShape(current, desired) && !isRecreated
      ? { action: 'attach', disk: current }
      : { action: 'migrate', disk: current, desired };
  }
  const unused = state.disks.findLast((disk) => hasShape(disk, desired));
  return unused === undefined ? { action: 'create', desired } : { action: 'attach', disk: unused };
}

function hasShape(disk: DiskRecord, desired: DesiredDisk): boolean {
  return (
    disk.size === desired.size &&
    isDeepStrictEqual(normalizeJson(disk.cloud_properties), normalizeJson(desired.cloudProperties))
  );
}

/** Normalises a value as a round trip through the JSON of the state file does, so that it can be compared. */
function normalizeJson(value: unknown): unknown {
  return fromJson(toJson(value ?? {}));
}

/** Returns the persistent disk of the manifest's instance group. */
export function desiredDisk({ instanceGroup }: Manifest): DesiredDisk | undefined {
  const pool = instanceGroup.diskPool;
  if (pool === undefined) return undefined;
  return { size: pool.diskSize, cloudProperties: pool.cloudProperties };
}

/**
 * Returns the current disk if the manifest has no persistent disk. As in bosh, such a disk is recorded and
 * neither deleted nor attached.
 */
export function unusedCurrentDisk(
  state: DeploymentState,
  desired: DesiredDisk | undefined,
): DiskRecord | undefined {
  return planDisk(state, desired).action === 'none' ? currentDisk(state) : undefined;
}

/**
 * Returns the message that tells the operator about the disk, whose data is not available and which may cost
 * money.
 */
export function describeKeptDisk({ cid }: Pick<DiskRecord, 'cid'>): string {
  return (
    `Disk '${oneLine(cid)}' is kept and not attached: the manifest has no persistent disk. ` +
    'Add one to use the disk, or its content, again; delete-env deletes it'
  );
}
