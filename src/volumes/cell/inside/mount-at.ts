import { spawnSync } from 'node:child_process';
import type { DirectoryHandle } from '../held-folder.ts';

/** Runs mount(8) on an open directory. mount(8) gets it as descriptor 3, so that it resolves no path. */
export function mountAt(folder: DirectoryHandle, words: readonly string[]): void {
  const { error, status, stderr } = spawnSync('mount', ['--no-canonicalize', ...words, '/proc/self/fd/3'], {
    stdio: ['ignore', 'ignore', 'pipe', folder.descriptor],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`mount failed: ${stderr.toString().trim()}`);
}
