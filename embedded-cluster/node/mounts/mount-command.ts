import { rm } from 'node:fs/promises';
import { runCommand } from '../command.ts';
import { formatFstab, type FstabEntry } from './fstab.ts';
import { readMountTable } from '../../../src/platform/mountinfo.ts';
import { writeFile } from '../../../src/platform/write-file.ts';

/** A mount(8) or umount(8) failed. `busy`: a process or a mount still uses the mount. */
export class MountError extends Error {
  readonly busy: boolean;

  constructor(message: string, busy: boolean) {
    super(message);
    this.name = 'MountError';
    this.busy = busy;
  }
}

/** Runs mount(8) with exact arguments in the node's own mount namespace. */
export async function mount(...args: readonly string[]): Promise<void> {
  const result = await runCommand('mount', args);
  if (result.exitCode !== 0) {
    throw new MountError(`mount ${args.join(' ')}: ${firstLine(result.stderr)}`, false);
  }
}

/**
 * Makes all mounts with one mount(8), which reads `file`; this function writes the file. If one mount fails,
 * the others are still made.
 */
export async function mountAll(entries: readonly FstabEntry[], file: string): Promise<void> {
  await writeFile(file, formatFstab(entries));
  try {
    await mount('-a', '-T', file);
  } finally {
    await rm(file);
  }
}

/**
 * Unmounts, never lazily, everything that is mounted at exactly these paths. A path without a mount is no
 * error. If one mount is busy, the others are still unmounted.
 */
export async function unmount(...targets: readonly string[]): Promise<void> {
  for (;;) {
    const table = await readMountTable();
    const mounted = targets.filter((target) => table.some((entry) => entry.target === target));
    if (mounted.length === 0) {
      return;
    }
    const result = await runCommand('umount', mounted);
    if (result.exitCode !== 0) {
      throw new MountError(firstLine(result.stderr), /busy/.test(result.stderr));
    }
  }
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';
