import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir } from 'node:fs/promises';
import { ProductError } from '../../../src/errors/product-error.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import { runCommand, type CommandResult } from '../command.ts';
import { safeRemove } from '../../../src/platform/safe-remove.ts';
import { scriptPath } from '../runtime/container-setup.ts';

const attempts = 5;
/** Longer than the granularity of a file's times in any kernel, so a later change has another time. */
const stillMs = 30;

/**
 * Copies the directory `from` to `to`, which must not exist, as it was at one moment, and syncs the copy to
 * the disk. Keeps modes, owners, links and holes; does not copy mounts inside. Rejects with VOLUME_BUSY, and
 * leaves no `to`, if `from` is written to during each of a few attempts: a copy of two moments is useless for
 * a database.
 */
export async function copyVolume(from: string, to: string, clock: Clock): Promise<void> {
  for (let remaining = attempts; remaining > 0; remaining -= 1) {
    const before = await readState(from);
    // A file that was changed just now may change again without a visible difference.
    if (before !== undefined && clock.now() - before.newestMs >= stillMs) {
      await mkdir(to);
      const copied = await copyTree(from, to);
      const isStill = (await readState(from))?.digest === before.digest;
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

/**
 * Copies the present content into the empty directory `to`. A symlink that appears during the copy cannot
 * lead out of the two directories.
 */
export function copyTree(from: string, to: string): Promise<CommandResult> {
  const script = ['/bin/sh', scriptPath('copy-volume.sh'), from, to];
  return runCommand('unshare', ['--mount', '--propagation', 'slave', '--', ...script]);
}

async function flush(path: string): Promise<void> {
  const { exitCode, stderr } = await runCommand('sync', ['--file-system', path]);
  if (exitCode !== 0) throw new Error(`bringing ${path} to the disk failed: ${stderr.trim()}`);
}

interface VolumeState {
  /** Differs after any change in the volume. */
  readonly digest: string;
  /** Time of the latest change. */
  readonly newestMs: number;
}

/**
 * Reads the state of the volume. `undefined`: it changed during the read. File names are kept as bytes: a
 * name that is not UTF-8 names no file after it is decoded, and changes below it would not count.
 */
async function readState(root: string): Promise<VolumeState | undefined> {
  const hash = createHash('sha256');
  const start = Buffer.from(root);
  const { dev } = await lstat(start, { bigint: true });
  let newestNs = 0n;
  const waiting = [start];
  try {
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const facts = await lstat(path, { bigint: true });
      const { ino, mode, size, mtimeNs, ctimeNs } = facts;
      hash.update(path).update(`\0${ino}\0${mode}\0${size}\0${mtimeNs}\0${ctimeNs}\0`);
      if (ctimeNs > newestNs) newestNs = ctimeNs;
      if (!facts.isDirectory() || facts.dev !== dev) continue;
      const names = (await readdir(path, { encoding: 'buffer' })).toSorted((one, other) =>
        one.compare(other),
      );
      for (const name of names) waiting.push(Buffer.concat([path, Buffer.from('/'), name]));
    }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(code)) return undefined;
    throw error;
  }
  return { digest: hash.digest('hex'), newestMs: Number(newestNs / 1_000_000n) };
}
