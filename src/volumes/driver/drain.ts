import { once } from 'node:events';
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { forEachLimit } from '../../platform/for-each-limit.ts';
import type { VolumeMounts } from './volume-mounts.ts';
import type { VolumeName } from '../options/volume-name.ts';

const atOnce = 16;
/** Milliseconds between two attempts for one volume. */
const pauseMs = 500;

/**
 * Unmounts all volumes and accepts no more mounts. Retries failed unmounts until the deadline (`late`).
 * Returns a text that lists the volumes that are still mounted, or '', at the deadline at the latest. The
 * next start of the driver unmounts the remaining ones.
 */
export async function drain(mounts: VolumeMounts, late: AbortSignal): Promise<string> {
  const { log } = mounts.ports;
  mounts.close();
  const remaining = new Set(mounts.all().map(({ record }) => record.name));
  log.info('drain', { volumes: remaining.size });
  const all = forEachLimit(atOnce, [...remaining], async (name) => {
    if (await isUnmountedBy(late, mounts, name)) remaining.delete(name);
    log.info('drain-progress', { volume: name, left: remaining.size });
  });
  await Promise.race([all, aborted(late)]);
  const names = await mountedNames(mounts);
  log.info('drained', { left: names });
  return names.length === 0 ? '' : `${names.length} volumes are still mounted: ${names.join(', ')}`;
}

/**
 * Returns false if the volume is still mounted at the deadline, or if only its record or directory could not
 * be removed.
 */
async function isUnmountedBy(late: AbortSignal, mounts: VolumeMounts, name: VolumeName): Promise<boolean> {
  for (;;) {
    try {
      await mounts.inQueue(name, () => unmountAndForget(mounts, name));
      return true;
    } catch (error) {
      mounts.ports.log.error('drain', error, { volume: name });
    }
    if (late.aborted || !(await mountedNames(mounts)).includes(name)) return false;
    await pause(pauseMs, undefined, { ref: false });
  }
}

async function mountedNames({ ports }: VolumeMounts): Promise<readonly string[]> {
  return (await ports.mounter.listMounts(ports.mountDir)).map((target) => basename(target));
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

async function unmountAndForget(mounts: VolumeMounts, name: VolumeName): Promise<void> {
  const volume = mounts.get(name);
  if (volume === undefined) return;
  const record = { ...volume.record, count: 0, ids: [] };
  const then = record.isKept ? 'keep' : 'forget';
  if (record.phase !== 'created') await mounts.unmount({ ...volume, record }, then);
  else if (then === 'forget') await mounts.forget(name);
}
