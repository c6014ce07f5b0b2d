import { isDeepStrictEqual } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import type { DeploymentState, DiskRecord } from '../state/deployment-state.ts';
import { currentDisk } from '../state/state-changes.ts';

/** The persistent disk that the manifest asks for. */
export interface WantedDisk {
  /** MiB. */
  readonly size: number;
  readonly cloudProperties: Readonly<Record<string, unknown>>;
  /** Where the manifest says so, for errors: `disk_pools[disks].disk_size`. */
  readonly sizeKey: string;
  readonly cloudPropertiesKey: string;
}

export type DiskPlan =
  | { readonly action: 'none' }
  | { readonly action: 'create'; readonly wanted: WantedDisk }
  | { readonly action: 'attach'; readonly disk: DiskRecord };

/**
 * What to do about the persistent disk. A disk of the wanted shape that an earlier run created and failed to attach is
 * used rather than a second one created; it has never held data. One no longer wanted is left alone, as bosh does.
 */
export function planDisk(state: DeploymentState, wanted: WantedDisk | undefined): DiskPlan {
  if (wanted === undefined || wanted.size === 0) return { action: 'none' };
  const current = currentDisk(state);
  if (current !== undefined) {
    refuseChange(current, wanted);
    return { action: 'attach', disk: current };
  }
  const unused = state.disks.findLast((disk) => hasShape(disk, wanted));
  return unused === undefined ? { action: 'create', wanted } : { action: 'attach', disk: unused };
}

/** Throws DISK_CHANGE_NOT_SUPPORTED, naming the key, when the manifest wants the current disk to be another. */
function refuseChange(disk: DiskRecord, wanted: WantedDisk): void {
  if (hasShape(disk, wanted)) return;
  const difference =
    disk.size === wanted.size
      ? `${wanted.cloudPropertiesKey} differs from the cloud_properties that disk '${disk.cid}' was created with`
      : `${wanted.sizeKey} is ${wanted.size}, but disk '${disk.cid}' has ${disk.size} MiB`;
  throw new ProductError(
    'DISK_CHANGE_NOT_SUPPORTED',
    `${difference}; moving data to another disk is not supported yet, so set the key back. Nothing was changed`,
  );
}

function hasShape(disk: DiskRecord, wanted: WantedDisk): boolean {
  return (
    disk.size === wanted.size &&
    isDeepStrictEqual(plain(disk.cloud_properties), plain(wanted.cloudProperties))
  );
}

/** As JSON compares: what a state file holds after a round trip. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? {}));
}
