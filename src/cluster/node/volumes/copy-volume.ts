import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../../errors/product-error.ts';
import type { Clock } from '../../../kubernetes/clock.ts';
import { runCommand } from '../command.ts';
import { safeRemove } from '../removal/safe-remove.ts';

const attempts = 5;
/** Longer than the steps in which a kernel counts a file's times: a later change has another time. */
const stillMs = 30;

/**
 * Copies the directory `from` to `to`, which is not there, as it was at one moment, and brings the copy to the disk. Modes,
 * owners, links and holes stay; nothing mounted inside comes along. Rejects with VOLUME_BUSY, and no `to`, where `from` is
 * written to during each of a few attempts: a copy of two moments is worth nothing to a database.
 */
export async function copyVolume(from: string, to: string, clock: Clock): Promise<void> {
  for (let left = attempts; left > 0; left -= 1) {
    const before = await readState(from);
    // a file that was changed just now may change again without showing it
    if (clock.now() - before.newestMs >= stillMs) {
      await mkdir(to);
      const copied = await runCommand('cp', ['-a', '-x', '--reflink=auto', '--', `${from}/.`, to]);
      const isStill = (await readState(from)).digest === before.digest;
      if (isStill && copied.exitCode === 0) return flush(to);
      await safeRemove(to);
      if (isStill) throw new Error(`copying ${from} failed: ${copied.stderr.trim()}`);
    }
    await clock.sleep(stillMs);
  }
  throw new ProductError(
    'VOLUME_BUSY',
    `${from} cannot be copied: something writes to it all the time. Stop that, or detach the volume, and try again.`,
  );
}

async function flush(path: string): Promise<void> {
  const { exitCode, stderr } = await runCommand('sync', ['--file-system', path]);
  if (exitCode !== 0) throw new Error(`bringing ${path} to the disk failed: ${stderr.trim()}`);
}

interface VolumeState {
  /** Differs whenever anything in the volume was changed. */
  readonly digest: string;
  /** Of the latest change. */
  readonly newestMs: number;
}

async function readState(root: string): Promise<VolumeState> {
  const hash = createHash('sha256');
  const { dev } = await lstat(root, { bigint: true });
  let newestNs = 0n;
  const waiting = [''];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const facts = await ifThere(lstat(join(root, path), { bigint: true }));
    if (facts === undefined) continue;
    hash.update(`${path}\0${facts.ino}\0${facts.mode}\0${facts.size}\0${facts.mtimeNs}\0${facts.ctimeNs}\0`);
    if (facts.ctimeNs > newestNs) newestNs = facts.ctimeNs;
    if (!facts.isDirectory() || facts.dev !== dev) continue;
    const names = (await ifThere(readdir(join(root, path)))) ?? [];
    waiting.push(...names.toSorted().map((name) => join(path, name)));
  }
  return { digest: hash.digest('hex'), newestMs: Number(newestNs / 1_000_000n) };
}

/** What went away meanwhile is missing in the digest, which is change enough. */
async function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
