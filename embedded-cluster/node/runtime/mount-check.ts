import type { MountSource } from '../mounts/mount-table.ts';
import type { MountEntry } from '../../../src/platform/mountinfo.ts';

export interface ExpectedMount {
  readonly target: string;
  readonly place: MountSource;
  readonly readOnly: boolean;
}

/**
 * Compares the mounts that the kernel made in a container with the requested ones. Returns the difference as
 * a sentence. This detects a directory that another container of the pod replaced by a symlink between the
 * plan and the mount.
 */
export function findMountMismatch(
  expected: readonly ExpectedMount[],
  table: readonly MountEntry[],
): string | undefined {
  for (const { target, place, readOnly } of expected) {
    const entry = table.findLast((each) => each.target === target);
    if (entry === undefined) {
      return `nothing was mounted at ${target}`;
    }
    if (entry.device !== place.device || entry.root !== place.path) {
      return `${entry.root} was mounted at ${target} where ${place.path} was asked for`;
    }
    if (readOnly && !entry.options.includes('ro')) {
      return `${target} was to be read-only`;
    }
  }
  return undefined;
}
