import { rm } from 'node:fs/promises';
import { devicesOf } from '../device/loop-device.ts';
import { holdersOf } from '../device/mounts.ts';
import type { Holder } from '../device/mounts.ts';
import { ProgramError, run } from '../device/run.ts';
import { replaceFile } from './replace-file.ts';
import { exists, fileState } from './volume-store.ts';

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
  await replaceFile(markOf(from), JSON.stringify(holder));
  try {
    await inNamespaceOf(holder, 'fsfreeze', '--freeze', holder.path);
    await copySparse(from, to);
  } finally {
    await thaw(from, holder);
  }
}

/** Must be called when a controller starts, because a frozen file system blocks its writers for ever. */
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

function inNamespaceOf(holder: Holder, program: string, ...words: string[]): Promise<string> {
  return run('nsenter', `--mount=/proc/${holder.pid}/ns/mnt`, '--', program, ...words);
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
