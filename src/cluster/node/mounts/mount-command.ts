import { rm } from 'node:fs/promises';
import { runCommand } from '../command.ts';
import { formatFstab, type FstabEntry } from './fstab.ts';
import { readMountTable } from '../../../platform/mountinfo.ts';
import { writeFile } from '../../../platform/write-file.ts';

/** A mount(8) or umount(8) that failed. `busy`: something still uses the mount. */
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

/** Makes all of them by one mount(8), which reads `file`, made for it; where one fails, the others are made. */
export async function mountAll(entries: readonly FstabEntry[], file: string): Promise<void> {
  await writeFile(file, formatFstab(entries));
  try {
    await mount('-a', '-T', file);
  } finally {
    await rm(file);
  }
}

/**
 * A plain umount, never lazy, of everything mounted at those very paths; nothing mounted there is success. Where one is
 * busy, the others are unmounted.
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
