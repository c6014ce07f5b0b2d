import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDirectory } from './cache-directory.ts';
import { holdingLock } from './holding-lock.ts';

const day = 24 * 60 * 60 * 1000;

/**
 * Returns the directory of that kind and key, shared by all clusters and checkouts. If it does not exist,
 * `make` creates it, atomically. Directories of that kind that were not requested for a day (or `keptMs`) are
 * removed when another one is created.
 */
export async function cachedFolder(
  kind: string,
  key: string,
  make: (directory: string) => Promise<unknown>,
  { cache = cacheDirectory('suite-stemcells'), keptMs = day }: { cache?: string; keptMs?: number } = {},
): Promise<string> {
  await mkdir(cache, { recursive: true });
  const directory = join(cache, `${kind}-${key}`);
  await holdingLock(join(cache, `${kind}.lock`), async () => {
    if (!existsSync(directory)) {
      await removeUnused(cache, kind, keptMs);
      await make(directory);
    }
    const now = new Date();
    await utimes(directory, now, now);
  });
  return directory;
}

/** Also removes the files beside it with the same name. */
async function removeUnused(cache: string, kind: string, keptMs: number): Promise<void> {
  const isOfKind = new RegExp(`^${kind}-[0-9a-f]{12}$`, 'u');
  const names = await readdir(cache);
  for (const name of names.filter((entry) => isOfKind.test(entry))) {
    if (Date.now() - (await stat(join(cache, name))).mtimeMs < keptMs) continue;
    for (const other of names.filter((entry) => entry.startsWith(name)))
      await rm(join(cache, other), { recursive: true });
  }
}
