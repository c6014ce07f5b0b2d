import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** A release to compare: an archive, or a directory that `bosh create-release` accepts. */
export interface FoundRelease {
  readonly kind: 'archive' | 'directory';
  readonly path: string;
}

/** Finds every release at or below a folder. Does not follow links, and does not search inside releases. */
export async function findReleases(directory: string): Promise<readonly FoundRelease[]> {
  const entries = (await readdir(directory, { withFileTypes: true })).toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  const has = (name: string): boolean => entries.some((entry) => entry.name === name && entry.isDirectory());
  if (has('config') && (has('jobs') || has('packages'))) {
    const config = await readdir(join(directory, 'config'));
    if (config.includes('final.yml')) return [{ kind: 'directory', path: directory }];
  }
  const found: FoundRelease[] = [];
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) found.push(...(await findReleases(path)));
    else if (entry.isFile() && /\.(tgz|tar\.gz)$/u.test(entry.name)) found.push({ kind: 'archive', path });
  }
  return found;
}
