import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir } from 'node:fs/promises';
import { ProductError } from '../../../errors/product-error.ts';
import type { Clock } from '../../../kubernetes/clock.ts';
import { runCommand, type CommandResult } from '../command.ts';
import { safeRemove } from '../../../platform/safe-remove.ts';
import { scriptPath } from '../runtime/script-path.ts';

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

/** As it is found, into the empty directory `to`. No link that appears meanwhile leads out of the two. */
export function copyTree(from: string, to: string): Promise<CommandResult> {
  const script = ['/bin/sh', scriptPath('copy-volume.sh'), from, to];
  return runCommand('unshare', ['--mount', '--propagation', 'slave', '--', ...script]);
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

/**
 * `undefined`: it changed meanwhile. Names are bytes: decoded, those that are not UTF-8 name nothing, and what is below them
 * would not count.
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
