import { rm, link, rename, stat, truncate } from 'node:fs/promises';
import { devicesOf, holdersOf, type Holder, detach, readSize, type LoopDevice } from './devices.ts';
import { ProgramError, run } from './run.ts';
import { replaceFile } from '../../../src/platform/durable-file.ts';
import { exists, fileState, type VolumeStore } from './volume-store.ts';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Copies an image whose file system may be mounted on a node. The file system is frozen during the copy, in
 * the mount namespace where it is mounted, so that the copy is consistent. A mark file beside the image tells
 * the next process that the file system may still be frozen.
 */
export async function copyBlocks(from: string, to: string): Promise<void> {
  await thawLeftover(from);
  const holder = await holderOf(from);
  if (holder === undefined) {
    await copyQuiet(from, to);
    return;
  }
  replaceFile(markOf(from), JSON.stringify(holder));
  try {
    await inNamespaceOf(holder, 'fsfreeze', '--freeze', holder.path);
    await copySparse(from, to);
  } finally {
    await thaw(from, holder);
  }
}

/** Must be called when a controller starts, because a frozen file system blocks its writers forever. */
export async function thawLeftover(image: string): Promise<void> {
  if (!(await exists(markOf(image)))) return;
  const holder = await holderOf(image);
  if (holder === undefined) await rm(markOf(image), { force: true });
  else await thaw(image, holder);
}

async function thaw(image: string, holder: Holder): Promise<void> {
  await inNamespaceOf(holder, 'fsfreeze', '--unfreeze', holder.path).catch((error: unknown) => {
    // EINVAL means that it is not frozen.
    if (!(error instanceof ProgramError) || !/invalid argument/i.test(error.stderr)) throw error;
  });
  await rm(markOf(image), { force: true });
}

const markOf = (image: string): string => `${image}.frozen`;

async function holderOf(image: string): Promise<Holder | undefined> {
  const [device] = await devicesOf(image);
  const holders = device === undefined ? [] : await holdersOf(device.number);
  // Prefer the kubelet's own mount to a path inside a container that may end.
  return holders.find(({ path }) => path.endsWith('/globalmount')) ?? holders[0];
}

function inNamespaceOf(holder: Holder, program: string, ...args: string[]): Promise<string> {
  return run('nsenter', `--mount=/proc/${holder.pid}/ns/mnt`, '--', program, ...args);
}

/** Copies an image that is not mounted. Repeats the copy if a node mounts it in the meantime. */
async function copyQuiet(from: string, to: string): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const before = await fileState(from);
    await copySparse(from, to);
    const after = await fileState(from);
    if (before.size === after.size && before.modifiedNs === after.modifiedNs) return;
  }
  throw new Error(`${from} changes all the time although it is not mounted`);
}

/** Copies a file with its holes. The next copy replaces an interrupted one. */
export async function copySparse(from: string, to: string): Promise<void> {
  await run('cp', '--sparse=always', '--no-preserve=all', from, to);
}

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
  const devices = await heldDevices(image);
  if (devices.length === 0) return;
  const holders = (await Promise.all(devices.map(({ number }) => holdersOf(number)))).flat();
  // Many processes share a mount namespace, so report one for each path.
  const telling = holders.filter(
    ({ path }, index) => holders.findIndex((each) => each.path === path) === index,
  );
  await store.report(volumeId, {
    at: new Date(nowMs).toISOString(),
    kind: 'taken-while-held',
    nodeId,
    detail: `${devices.map(({ path }) => path).join(', ')} was in use when the volume was detached`,
    holders: telling.map(({ pid, path }) => `pid ${pid} at ${path}`),
  });
  await link(image, `${image.slice(0, -'.img'.length)}.pulled.${nowMs}`);
  const next = `${image}.next`;
  await copySparse(image, next);
  await rename(next, image);
  await finish(store, volumeId);
}

const timeoutMs = 3000;

/**
 * Returns the devices that remain after a plain detach. A node that was killed between umount and losetup
 * leaves an idle device.
 */
async function heldDevices(image: string): Promise<LoopDevice[]> {
  for (let waited = 0; ; waited += 50) {
    const devices = await devicesOf(image);
    if (devices.length === 0) return [];
    const mounts = await Promise.all(devices.map(({ number }) => holdersOf(number)));
    if (mounts.flat().length > 0 || waited >= timeoutMs) return devices;
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
