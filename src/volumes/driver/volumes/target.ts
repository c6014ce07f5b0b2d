import { mkdir, rmdir } from 'node:fs/promises';

/**
 * Makes the empty folder that a share is mounted at. What is there must be an empty folder, too: `rmdir`
 * looks at the entry only, and not at a mount on it.
 */
export async function makeTarget(target: string): Promise<void> {
  await removeTarget(target);
  await mkdir(target, { mode: 0o700 });
}

/** Removes it after the unmount, if it is there. */
export async function removeTarget(target: string): Promise<void> {
  try {
    await rmdir(target);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
