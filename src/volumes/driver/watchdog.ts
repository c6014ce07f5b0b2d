import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { MountHealth } from './mount/mounter.ts';
import { forEachLimit } from '../../platform/for-each-limit.ts';
import { Slots } from './slots.ts';
import { mountCount, serverOf, type Volume, type VolumeMounts } from './volume-mounts.ts';
import type { VolumeName } from '../options/volume-name.ts';

/** The number of mounts of one server that are checked concurrently. */
const atOnceOfServer = 2;
/**
 * The number of mounts that are checked concurrently: once for servers that respond, once for those that do
 * not.
 */
const atOnce = 16;

/**
 * Probes the mount of each volume in use, and mounts again if it is missing or dead. Finishes interrupted
 * unmounts. Does not touch mounts of unresponsive servers, because they work again when the server returns.
 * Running containers keep a dead mount; only containers that start later use the new one.
 *
 * Each server has its own queue. A server counts as silent if its mounts could not be made again, until one
 * of them responds. Silent servers wait only for each other.
 */
class Watchdog {
  readonly #mounts: VolumeMounts;
  readonly #checks = new Map<string, Promise<void>>();
  readonly #silent = new Set<string>();
  readonly #ofAnswering = new Slots(atOnce);
  readonly #ofSilent = new Slots(atOnce);
  /** The health of the mounts in use at the last check. */
  readonly #health = new Map<VolumeName, MountHealth>();
  #isStopped = false;

  constructor(mounts: VolumeMounts) {
    this.#mounts = mounts;
  }

  /** Starts to check the mounts of each server whose previous check has ended. */
  check(): void {
    const servers = Map.groupBy(this.#mounts.all(), serverOf);
    for (const server of this.#silent) if (!servers.has(server)) this.#silent.delete(server);
    for (const name of this.#health.keys()) if (!this.#isInUse(name)) this.#health.delete(name);
    this.#reportSlow();
    for (const [server, volumes] of servers) {
      if (this.#checks.has(server)) continue;
      const check = this.#checkServer(server, volumes).finally(() => this.#checks.delete(server));
      this.#checks.set(server, check);
    }
  }

  /** Resolves when no check is running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#checks.values());
  }

  async #checkServer(server: string, volumes: readonly Volume[]): Promise<void> {
    await forEachLimit(atOnceOfServer, volumes, async ({ record: { name } }) => {
      const slots = this.#silent.has(server) ? this.#ofSilent : this.#ofAnswering;
      await slots.run(async () => {
        const volume = this.#mounts.get(name);
        if (volume === undefined || this.#isStopped) return;
        try {
          if (await this.#isGood(volume)) this.#silent.delete(server);
        } catch (error) {
          this.#silent.add(server);
          this.#mounts.ports.log.error('watch', error, { volume: name });
        }
      });
    });
  }

  /** Returns true if the mount is healthy or was made again. */
  async #isGood(volume: Volume): Promise<boolean> {
    const { name, phase } = volume.record;
    if (phase === 'unmounting') await finishUnmount(this.#mounts, volume);
    if (!this.#isInUse(name)) return false;
    const health = await healthOf(this.#mounts, volume);
    this.#health.set(name, health);
    this.#reportSlow();
    return health === 'answers' || replaceMount(this.#mounts, volume, health);
  }

  #isInUse(name: VolumeName): boolean {
    const volume = this.#mounts.get(name);
    return volume !== undefined && mountCount(volume.record) > 0;
  }

  #reportSlow(): void {
    const counts: Record<MountHealth, number> = { answers: 0, stale: 0, absent: 0 };
    for (const health of this.#health.values()) counts[health] += 1;
    this.#mounts.ports.metrics.watched(counts);
  }
}

async function finishUnmount(mounts: VolumeMounts, volume: Volume): Promise<void> {
  await ifStillCurrent(mounts, volume, async () => {
    const isNeeded = volume.record.isKept || mountCount(volume.record) > 0;
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

/**
 * Mounts a volume again. Returns false if the volume has changed in the meantime, or has no options to mount
 * with.
 */
async function replaceMount(mounts: VolumeMounts, volume: Volume, health: MountHealth): Promise<boolean> {
  const { log, metrics, mountDir } = mounts.ports;
  const { name } = volume.record;
  if (mounts.get(name) !== volume || volume.options === undefined) return false;
  log.info('mount-broken', { volume: name, health });
  if (health === 'stale') {
    // do not unmount before the server is known to work: the mount of a temporarily silent server recovers,
    // and a forced unmount fails running I/O
    const probeTarget = createHash('sha256').update(name).digest('hex').slice(0, 32);
    await mounts.probeByMounting(volume, join(mountDir, `.trial-${probeTarget}`));
  }
  return ifStillCurrent(mounts, volume, async () => {
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

/** Runs work if the volume is unchanged. Each change makes a new volume object. */
async function ifStillCurrent(
  mounts: VolumeMounts,
  volume: Volume,
  work: () => Promise<void>,
): Promise<boolean> {
  const { name } = volume.record;
  return mounts.inQueue(name, async () => {
    if (mounts.get(name) !== volume) return false;
    await work();
    return true;
  });
}

/** Starts a check now and every `every` milliseconds. Returns a function that stops the watchdog. */
export function startWatchdog(mounts: VolumeMounts, every: number): () => Promise<void> {
  if (every === 0) return () => Promise.resolve();
  const watchdog = new Watchdog(mounts);
  const timer = setInterval(() => watchdog.check(), every);
  watchdog.check();
  return async () => {
    clearInterval(timer);
    await watchdog.stop();
  };
}
