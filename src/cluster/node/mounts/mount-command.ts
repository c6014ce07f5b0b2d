import { runCommand } from '../command.ts';
import { readMountTable } from './mount-table.ts';

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

/** A plain umount, never lazy, of everything mounted at that very path; nothing mounted there is success. */
export async function unmount(target: string): Promise<void> {
  for (;;) {
    const table = await readMountTable();
    if (!table.some((entry) => entry.target === target)) {
      return;
    }
    const result = await runCommand('umount', [target]);
    if (result.exitCode !== 0) {
      throw new MountError(firstLine(result.stderr), /busy/.test(result.stderr));
    }
  }
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';
