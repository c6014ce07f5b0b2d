import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { MountHealth } from '../mount/mounter.ts';
import { forEachAtMost } from './for-each-at-most.ts';
import type { Volume } from './volume.ts';
import { holdersOf } from './volume.ts';
import type { VolumeMounts } from './volume-mounts.ts';

const atOnce = 8;

/**
 * Probes the mount of each volume that is in use, and mounts again what is gone or dead; unmounts what an
 * unmount left. A mount whose server does not answer stays: its users go on when the server comes back.
 * Containers that run keep a dead mount; only those that start later have the new one.
 */
export async function watch(mounts: VolumeMounts): Promise<void> {
  const health: Record<MountHealth, number> = { answers: 0, stale: 0, absent: 0 };
  await forEachAtMost(atOnce, mounts.all(), async (volume) => {
    const { log } = mounts.ports;
    try {
      if (volume.record.phase === 'unmounting') await unmountLeft(mounts, volume);
      if (holdersOf(volume.record) === 0) return;
      const found = await healthOf(mounts, volume);
      health[found] += 1;
      if (found !== 'answers') await replaceMount(mounts, volume, found);
    } catch (error) {
      log.error('watch', error, { volume: volume.record.name });
    }
  });
  mounts.ports.metrics.watched(health);
}

async function unmountLeft(mounts: VolumeMounts, volume: Volume): Promise<void> {
  await ifUnchanged(mounts, volume, async () => {
    const isNeeded = volume.record.isKept || holdersOf(volume.record) > 0;
    await mounts.unmount(volume, isNeeded ? 'keep' : 'forget');
  });
}

async function healthOf(mounts: VolumeMounts, { record }: Volume): Promise<MountHealth> {
  const { metrics, clock } = mounts.ports;
  const started = clock();
  const health = await mounts.probe(mounts.targetOf(record.name));
  metrics.probed((clock() - started) / 1000);
  return health;
}

async function replaceMount(mounts: VolumeMounts, volume: Volume, health: MountHealth): Promise<void> {
  const { log, metrics, mountDir } = mounts.ports;
  const { name } = volume.record;
  // it was changed meanwhile, or there are no options to mount it by
  if (mounts.get(name) !== volume || volume.options === undefined) return;
  log.info('mount-broken', { volume: name, health });
  if (health === 'stale') {
    // a server that is silent for a while has its mount when it speaks again; a forced unmount fails its
    // users
    const trial = createHash('sha256').update(name).digest('hex').slice(0, 32);
    await mounts.tryMount(volume, join(mountDir, `.trial-${trial}`));
  }
  await ifUnchanged(mounts, volume, async () => {
    try {
      await mounts.mount(volume, new AbortController().signal);
      metrics.remounted('mounted');
      log.info('mounted-again', { volume: name });
    } catch (error) {
      metrics.remounted('failed');
      throw error;
    }
  });
}

/** A volume object is another one after each change. */
async function ifUnchanged(mounts: VolumeMounts, volume: Volume, work: () => Promise<void>): Promise<void> {
  const { name } = volume.record;
  await mounts.inQueue(name, async () => {
    if (mounts.get(name) === volume) await work();
  });
}

/** Watches again and again, `every` milliseconds after the last time; returns how to stop. */
export function startWatchdog(mounts: VolumeMounts, every: number): () => Promise<void> {
  if (every === 0) return () => Promise.resolve();
  let isStopped = false;
  let running = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const next = (): void => {
    running = watch(mounts).finally(() => {
      if (!isStopped) timer = setTimeout(next, every);
    });
  };
  next();
  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await running;
  };
}
