import { link, rename, rm, stat, truncate } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { detach, devicesOf, readSize } from '../device/loop-device.ts';
import type { LoopDevice } from '../device/loop-device.ts';
import { holdersOf } from '../device/mounts.ts';
import { copySparse } from './copy-blocks.ts';
import type { VolumeStore } from './volume-store.ts';

/**
 * Takes a volume from a node as a storage array does at a detach, even if it is still mounted there. A loop
 * device cannot be pulled, so its file is: the volume continues as a copy of this moment, and the device gets
 * the size 0. Everything that its file system has not written yet, or writes later, is lost with an I/O
 * error. Such a loss is reported first. A repeated call completes an interrupted one.
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
  // Many processes share a mount namespace, so report one for each path.
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

/**
 * Returns the devices that remain after a plain detach. A node that was killed between umount and losetup
 * leaves an idle device.
 */
async function heldDevices(image: string): Promise<LoopDevice[]> {
  for (let waited = 0; ; waited += 50) {
    const devices = await devicesOf(image);
    if (devices.length === 0) return [];
    const mounts = await Promise.all(devices.map(({ number }) => holdersOf(number)));
    if (mounts.flat().length > 0 || waited >= patienceMs) return devices;
    for (const device of devices) await detach(device);
    // The last close of a device that was just unmounted may still be running.
    await pause(50);
  }
}

async function finish(store: VolumeStore, volumeId: string): Promise<void> {
  const { ino } = await stat(store.image(volumeId));
  for (const file of await store.pulled(volumeId)) {
    // The call was interrupted before the copy was renamed. Then this file is the volume itself.
    if ((await stat(file)).ino !== ino) {
      await truncate(file, 0);
      for (const device of await devicesOf(file)) await readSize(device);
    }
    await rm(file, { force: true });
  }
}
