import type { VolumeName } from '../volumes/volume-name.ts';
import { parseVolumeName } from '../volumes/volume-name.ts';
import type { Phase, VolumeRecord } from './volume-record.ts';

/** What a driver finds when it starts. */
export interface DriverInventory {
  readonly records: readonly VolumeRecord[];
  /** Entries of the mount folder that have a mount or a part of one. */
  readonly mounted: readonly string[];
  /**
   * Records may be missing: the driver never ran here, or some could not be read. Mounts without a record are
   * then somebody's; else they are nobody's.
   */
  readonly recordsMayBeIncomplete: boolean;
  /** How often mounts of the old driver were counted, by name. */
  readonly oldCounts: ReadonlyMap<string, number>;
  readonly bootId: string;
}

export interface RecoveryPlan {
  /** Volumes as they are from now on. */
  readonly volumes: readonly VolumeRecord[];
  /**
   * Those of them whose mount, or a part of one, has to go: it was begun or ended when the driver was killed.
   */
  readonly undo: readonly VolumeName[];
  /** Volumes that a former start of the machine mounted: nobody uses them, and nobody will remove them. */
  readonly forget: readonly VolumeName[];
  /** Records of mounts that had none. */
  readonly adopt: readonly VolumeRecord[];
  /** Entries of the mount folder to unmount. */
  readonly unknownMounts: readonly string[];
}

/**
 * Decides what becomes of volumes and mounts when the driver starts. Mounts that should be there, and are
 * not, are for the watchdog.
 */
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
