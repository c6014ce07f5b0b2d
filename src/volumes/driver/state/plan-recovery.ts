import type { VolumeName } from '../volumes/volume-name.ts';
import { parseVolumeName } from '../volumes/volume-name.ts';
import type { Phase, VolumeRecord } from './volume-record.ts';

/** The records and mounts that a driver finds when it starts. */
export interface DriverInventory {
  readonly records: readonly VolumeRecord[];
  /** The entries of the mount directory that have a mount or a part of one. */
  readonly mounted: readonly string[];
  /**
   * Records may be missing: the driver never ran here, or some records could not be read. Then unknown mounts
   * are adopted, because a container may use them. Otherwise unknown mounts are unmounted.
   */
  readonly recordsMayBeIncomplete: boolean;
  /** How often the old driver has mounted each volume, by name. */
  readonly oldCounts: ReadonlyMap<string, number>;
  readonly bootId: string;
}

export interface RecoveryPlan {
  /** The volumes after the recovery. */
  readonly volumes: readonly VolumeRecord[];
  /**
   * The volumes whose mount, or a part of one, must be removed: the driver was killed while it mounted or
   * unmounted them.
   */
  readonly undo: readonly VolumeName[];
  /**
   * Volumes that were mounted before the machine restarted. No container uses them, and no client will remove
   * them.
   */
  readonly forget: readonly VolumeName[];
  /** New records for mounts without a record. */
  readonly adopt: readonly VolumeRecord[];
  /** Entries of the mount directory to unmount. */
  readonly unknownMounts: readonly string[];
}

/** Decides what happens to volumes and mounts when the driver starts. The watchdog repairs missing mounts. */
export function planRecovery(found: DriverInventory): RecoveryPlan {
  const plan = { volumes: [], undo: [], forget: [], adopt: [], unknownMounts: [] } as {
    volumes: VolumeRecord[];
    undo: VolumeName[];
    forget: VolumeName[];
    adopt: VolumeRecord[];
    unknownMounts: string[];
  };
  const mounted = new Set(found.mounted);
  for (const record of found.records) {
    const isMounted = mounted.delete(record.name);
    const isOfThisStart = record.bootId === found.bootId || record.phase === 'created';
    if (!isOfThisStart && !isMounted && !record.isKept) {
      plan.forget.push(record.name);
      continue;
    }
    plan.volumes.push(isOfThisStart ? record : { ...record, phase: 'created', count: 0, ids: [] });
    if (isOfThisStart ? isInterrupted(record.phase, isMounted) : isMounted) plan.undo.push(record.name);
  }
  for (const entry of mounted) {
    const parsed = parseVolumeName(entry);
    if (found.recordsMayBeIncomplete && 'name' in parsed) plan.adopt.push(adopted(parsed.name, found));
    else plan.unknownMounts.push(entry);
  }
  return plan;
}

const isInterrupted = (phase: Phase, isMounted: boolean): boolean =>
  phase === 'created' ? isMounted : phase !== 'mounted';

const adopted = (name: VolumeName, { oldCounts, bootId }: DriverInventory): VolumeRecord => ({
  name,
  phase: 'mounted',
  options: {},
  lacksSecrets: true,
  count: oldCounts.get(name) ?? 1,
  ids: [],
  isKept: false,
  bootId,
});
