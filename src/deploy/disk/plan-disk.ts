import { isDeepStrictEqual } from 'node:util';
import { fromJson, toJson } from '../../bosh/yaml/exact-json.ts';
import type { DeploymentState, DiskRecord } from '../state/deployment-state.ts';
import { currentDisk } from '../state/state-changes.ts';

/** The persistent disk that the manifest asks for. */
export interface WantedDisk {
  /** MiB. */
  readonly size: number;
  readonly cloudProperties: Readonly<Record<string, unknown>>;
}

export type DiskPlan =
  | { readonly action: 'none' }
  | { readonly action: 'create'; readonly wanted: WantedDisk }
  | { readonly action: 'attach'; readonly disk: DiskRecord }
  /** The current disk is attached, and its content moves to a new one of the wanted shape. */
  | { readonly action: 'migrate'; readonly disk: DiskRecord; readonly wanted: WantedDisk };

/**
 * What to do about the persistent disk. Without a current one, a disk of the wanted shape that an earlier run created
 * and failed to attach is used rather than a second one created; it has never held data. A migration always has a new
 * disk: a former target may hold a part of the content. `isRecreated`: a current disk of the wanted shape is
 * migrated, too. One no longer wanted is left alone, as bosh does.
 */
export function planDisk(
  state: DeploymentState,
  wanted: WantedDisk | undefined,
  isRecreated = false,
): DiskPlan {
  if (wanted === undefined || wanted.size === 0) return { action: 'none' };
  const current = currentDisk(state);
  if (current !== undefined) {
    return hasShape(current, wanted) && !isRecreated
      ? { action: 'attach', disk: current }
      : { action: 'migrate', disk: current, wanted };
  }
  const unused = state.disks.findLast((disk) => hasShape(disk, wanted));
  return unused === undefined ? { action: 'create', wanted } : { action: 'attach', disk: unused };
}

function hasShape(disk: DiskRecord, wanted: WantedDisk): boolean {
  return (
    disk.size === wanted.size &&
    isDeepStrictEqual(normalizeJson(disk.cloud_properties), normalizeJson(wanted.cloudProperties))
  );
}

/** As JSON compares: what a state file holds after a round trip. */
function normalizeJson(value: unknown): unknown {
  return fromJson(toJson(value ?? {}));
}
