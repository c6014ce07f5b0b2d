import { basename } from 'node:path';
import { forEachAtMost } from './for-each-at-most.ts';
import type { VolumeMounts } from './volume-mounts.ts';
import type { VolumeName } from './volume-name.ts';

const atOnce = 16;

/**
 * Unmounts all volumes, and mounts nothing more. Resolves at the deadline at the latest, with what is still
 * mounted in words, or ''. What is left then the next start of the driver unmounts.
 */
export async function drain(mounts: VolumeMounts): Promise<string> {
  const { log, deadlines, mounter, mountDir } = mounts.ports;
  mounts.close();
  const left = new Set(mounts.all().map(({ record }) => record.name));
  log.info('drain', { volumes: left.size });
  const all = forEachAtMost(atOnce, left, async (name) => {
    try {
      await mounts.inQueue(name, () => unmountAndForget(mounts, name));
      left.delete(name);
      log.info('drain-progress', { volume: name, left: left.size });
    } catch (error) {
      log.error('drain', error, { volume: name });
    }
  });
  const deadline = Promise.withResolvers<void>();
  const timer = setTimeout(() => deadline.resolve(), deadlines.drain);
  await Promise.race([all, deadline.promise]);
  clearTimeout(timer);
  const mounted = (await mounter.mounted(mountDir)).map((target) => basename(target));
  const names = [...new Set<string>([...left, ...mounted])];
  log.info('drained', { left: names });
  return names.length === 0 ? '' : `${names.length} volumes are still mounted: ${names.join(', ')}`;
}

async function unmountAndForget(mounts: VolumeMounts, name: VolumeName): Promise<void> {
  const volume = mounts.get(name);
  if (volume === undefined) return;
  const record = { ...volume.record, count: 0, ids: [] };
  const then = record.isKept ? 'keep' : 'forget';
  if (record.phase !== 'created') await mounts.unmount({ ...volume, record }, then);
  else if (then === 'forget') await mounts.forget(name);
}
