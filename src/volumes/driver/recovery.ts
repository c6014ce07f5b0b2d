import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseVolumeName, type VolumeName } from '../options/volume-name.ts';
import { oldStateFile, type Phase, readLegacyMountCounts, type VolumeRecord } from './volume-store.ts';
import { forEachLimit } from '../../platform/for-each-limit.ts';
import { mountCount, type VolumeMounts } from './volume-mounts.ts';

/** The records and mounts that a driver finds when it starts. */
interface DriverInventory {
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

interface RecoveryPlan {
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
function planRecovery(inventory: DriverInventory): RecoveryPlan {
  const plan = { volumes: [], undo: [], forget: [], adopt: [], unknownMounts: [] } as {
    volumes: VolumeRecord[];
    undo: VolumeName[];
    forget: VolumeName[];
    adopt: VolumeRecord[];
    unknownMounts: string[];
  };
  const mounted = new Set(inventory.mounted);
  for (const record of inventory.records) {
    const isMounted = mounted.delete(record.name);
    const isOfThisStart = record.bootId === inventory.bootId || record.phase === 'created';
    if (!isOfThisStart && !isMounted && !record.isKept) {
      plan.forget.push(record.name);
      continue;
    }
    plan.volumes.push(isOfThisStart ? record : { ...record, phase: 'created', count: 0, ids: [] });
    if (isOfThisStart ? isInterrupted(record.phase, isMounted) : isMounted) plan.undo.push(record.name);
  }
  for (const entry of mounted) {
    const parsed = parseVolumeName(entry);
    if (inventory.recordsMayBeIncomplete && 'name' in parsed)
      plan.adopt.push(adopted(parsed.name, inventory));
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

/** The number of concurrent unmounts. Each one is a process. */
const concurrency = 16;

/**
 * Recovers the volumes and mounts of an earlier driver process. Resolves when all volumes are in memory.
 * `done` resolves when the mounts that must be removed are unmounted; requests for their volumes wait for
 * that.
 */
export async function recover(mounts: VolumeMounts): Promise<{ readonly done: Promise<void> }> {
  const { store, mounter, mountDir, bootId, log } = mounts.ports;
  const { records, unreadable, isFirstStart } = await store.load();
  const oldState = join(mountDir, oldStateFile);
  const targets = await mounter.listMounts(mountDir);
  const plan = planRecovery({
    records,
    mounted: targets.map((target) => relative(mountDir, target)),
    recordsMayBeIncomplete: isFirstStart || unreadable.length > 0,
    oldCounts: isFirstStart ? await readLegacyMountCounts(oldState) : new Map(),
    bootId,
  });
  for (const record of plan.volumes) mounts.load(record);
  for (const record of plan.adopt) mounts.put({ record, options: undefined });
  for (const name of plan.forget) await store.delete(name);
  store.markInitialised();
  await rm(oldState, { force: true });
  log.info('recovered', {
    volumes: plan.volumes.length,
    undo: plan.undo,
    adopted: plan.adopt.map(({ name }) => name),
    strays: plan.unknownMounts,
    forgotten: plan.forget.length,
    unreadable,
  });

  const undo = plan.undo.map(
    (name) => (): Promise<void> =>
      mounts.inQueue(name, async () => {
        const volume = mounts.get(name);
        if (volume === undefined) return;
        const { phase, isKept } = volume.record;
        const isOver = phase === 'unmounting' && !isKept && mountCount(volume.record) === 0;
        await mounts.unmount(volume, isOver ? 'forget' : 'keep');
      }),
  );
  const strays = plan.unknownMounts.map(
    (entry) => (): Promise<void> => mounts.inQueue(entry, () => mounts.unmountAt(join(mountDir, entry))),
  );
  const done = forEachLimit(concurrency, [...undo, ...strays], (work) =>
    work().catch((error: unknown) => log.error('recover', error)),
  );
  return { done };
}
