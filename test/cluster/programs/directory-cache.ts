import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import { join, isAbsolute } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';

const day = 24 * 60 * 60 * 1000;

/**
 * Returns the directory of that kind and key, shared by all clusters and checkouts. If it does not exist,
 * `make` creates it, atomically. Directories of that kind that were not requested for a day (or `keptMs`) are
 * removed when another one is created.
 */
export async function cachedDirectory(
  kind: string,
  key: string,
  make: (directory: string) => Promise<unknown>,
  { cache = cacheDirectory('suite-stemcells'), keptMs = day }: { cache?: string; keptMs?: number } = {},
): Promise<string> {
  await mkdir(cache, { recursive: true });
  const directory = join(cache, `${kind}-${key}`);
  await withFileLock(join(cache, `${kind}.lock`), async () => {
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

/**
 * Runs `action` with the exclusive lock of that file, after waiting for other processes. flock(1) keeps the
 * lock in the kernel, which releases it when this process dies.
 */
export async function withFileLock<T>(path: string, action: () => Promise<T>): Promise<T> {
  const lockProcess = spawn('flock', [path, 'sh', '-c', 'echo locked; cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(lockProcess, 'close');
  const [outcome] = await Promise.race([once(lockProcess.stdout, 'data'), ended]);
  if (!Buffer.isBuffer(outcome)) throw new Error(`flock ${path} ended with ${outcome}`);
  try {
    return await action();
  } finally {
    lockProcess.stdin.end();
    await ended;
  }
}

/**
 * Returns a directory outside of the checkout, so that all checkouts of a user share one cache (XDG base
 * directory specification).
 */
export function cacheDirectory(name: string, environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CACHE_HOME: given = '', HOME: home = '' } = environment;
  const base = isAbsolute(given) ? given : join(home === '' ? homedir() : home, '.cache');
  return join(base, 'bosh-kubernetes', name);
}
