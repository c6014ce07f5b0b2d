import { rm } from 'node:fs/promises';
import { devicesOf } from '../device/loop-device.ts';
import { holdersOf } from '../device/mounts.ts';
import type { Holder } from '../device/mounts.ts';
import { ProgramError, run } from '../device/run.ts';
import { replaceFile } from './replace-file.ts';
import { exists, fileState } from './volume-store.ts';

/**
 * Copies an image while its file system may be mounted on some node: it is frozen for the time of the copy, in the mount
 * namespace where it is mounted, so that the copy is a file system at one moment. A mark beside the image tells the next
 * life that a freeze may have outlived this one.
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

/** To be called when a controller starts: a file system that stays frozen stops whoever writes to it for ever. */
export async function thawLeftover(image: string): Promise<void> {
  if (!(await exists(markOf(image)))) return;
  const holder = await holderOf(image);
  if (holder === undefined) await rm(markOf(image), { force: true });
  else await thaw(image, holder);
}

async function thaw(image: string, holder: Holder): Promise<void> {
  await inNamespaceOf(holder, 'fsfreeze', '--unfreeze', holder.path).catch((error: unknown) => {
    // EINVAL: it is not frozen
    if (!(error instanceof ProgramError) || !/invalid argument/i.test(error.stderr)) throw error;
  });
  await rm(markOf(image), { force: true });
}

const markOf = (image: string): string => `${image}.frozen`;

async function holderOf(image: string): Promise<Holder | undefined> {
  const [device] = await devicesOf(image);
  const holders = device === undefined ? [] : await holdersOf(device.number);
  // the kubelet's own mount rather than a path inside a container that may end
  return holders.find(({ path }) => path.endsWith('/globalmount')) ?? holders[0];
}

function inNamespaceOf(holder: Holder, program: string, ...words: string[]): Promise<string> {
  return run('nsenter', `--mount=/proc/${holder.pid}/ns/mnt`, '--', program, ...words);
}

/** Nobody has it mounted: again where somebody begins to in the middle. */
async function copyQuiet(from: string, to: string): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const before = await fileState(from);
    await copySparse(from, to);
    const after = await fileState(from);
    if (before.size === after.size && before.modifiedNs === after.modifiedNs) return;
  }
  throw new Error(`${from} changes all the time although it is not mounted`);
}

/** Holes stay holes; an interrupted copy is replaced by the next. */
export async function copySparse(from: string, to: string): Promise<void> {
  await run('cp', '--sparse=always', '--no-preserve=all', from, to);
}
