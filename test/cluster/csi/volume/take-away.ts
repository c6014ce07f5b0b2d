import { link, rename, rm, stat, truncate } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { detach, devicesOf, readSize } from '../device/loop-device.ts';
import type { LoopDevice } from '../device/loop-device.ts';
import { holdersOf } from '../device/mounts.ts';
import { copySparse } from './copy-blocks.ts';
import type { VolumeStore } from './volume-store.ts';

/**
 * What a storage array does at a detach: the node has the disk no more, whoever still has it mounted. A loop device cannot
 * be pulled, so its file is: the volume goes on as a copy of this moment, the device gets the size 0, and everything that
 * its file system had not written yet, or writes now, is lost with an I/O error. Such a loss is reported first.
 * Repeating it finishes what a former call began.
 */
export async function takeAway(
  store: VolumeStore,
  volumeId: string,
  nodeId: string,
  nowMs: number,
): Promise<void> {
  await finish(store, volumeId);
  const image = store.image(volumeId);
  const held = await heldDevices(image);
  if (held.length === 0) return;
  const holders = (await Promise.all(held.map(({ number }) => holdersOf(number)))).flat();
  // many processes share a mount namespace: one of them tells for all
  const telling = holders.filter(
    ({ path }, index) => holders.findIndex((each) => each.path === path) === index,
  );
  await store.report(volumeId, {
    at: new Date(nowMs).toISOString(),
    kind: 'taken-while-held',
    nodeId,
    detail: `${held.map(({ path }) => path).join(', ')} was in use when the volume was detached`,
    holders: telling.map(({ pid, path }) => `pid ${pid} at ${path}`),
  });
  await link(image, `${image.slice(0, -'.img'.length)}.pulled.${nowMs}`);
  const next = `${image}.next`;
  await copySparse(image, next);
  await rename(next, image);
  await finish(store, volumeId);
}

const patienceMs = 3000;

/** The devices that stay after a plain detach: a node that was killed between umount and losetup leaves one that is idle. */
async function heldDevices(image: string): Promise<LoopDevice[]> {
  for (let waited = 0; ; waited += 50) {
    const devices = await devicesOf(image);
    if (devices.length === 0) return [];
    const mounts = await Promise.all(devices.map(({ number }) => holdersOf(number)));
    if (mounts.flat().length > 0 || waited >= patienceMs) return devices;
    for (const device of devices) await detach(device);
    // the last close of a device that was just unmounted may still be under way
    await pause(50);
  }
}

async function finish(store: VolumeStore, volumeId: string): Promise<void> {
  const { ino } = await stat(store.image(volumeId));
  for (const file of await store.pulled(volumeId)) {
    // cut off before the copy took the name: it is the volume itself
    if ((await stat(file)).ino !== ino) {
      await truncate(file, 0);
      for (const device of await devicesOf(file)) await readSize(device);
    }
    await rm(file, { force: true });
  }
}
