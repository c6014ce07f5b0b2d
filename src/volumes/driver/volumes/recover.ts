import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { oldStateFile, readLegacyMountCounts } from '../state/old-state.ts';
import { planRecovery } from '../state/plan-recovery.ts';
import { forEachLimit } from './for-each-at-most.ts';
import { mountCount } from './volume.ts';
import type { VolumeMounts } from './volume-mounts.ts';

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
