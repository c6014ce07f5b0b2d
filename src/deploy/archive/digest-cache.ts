import { stat } from 'node:fs/promises';
import { digestOfFile, verifyFile } from '../../bosh/digest.ts';
import { writeDurably } from '../durable-file.ts';
import { readJsonCache } from '../json-cache.ts';

interface Known {
  /** Identifies the state of the file that the digests belong to. */
  readonly stamp: string;
  readonly digest: string;
  /** Other digests that the file has been verified against. */
  readonly verified: readonly string[];
}

/**
 * A file that changed within the last so many milliseconds is not cached, because it can change again without
 * getting another stamp: kernels count time in ticks of up to 10 ms, some file systems in seconds.
 */
const settledAfter = { ticks: 100, seconds: 2000 };

/**
 * Digests of files by inode, size and times, as in git's index. An archive of 100 MB need not be read to see
 * that it is unchanged. The change time (ctime) cannot be set by hand.
 */
export class DigestCache {
  readonly #path: string;
  readonly #now: () => number;
  #files: Readonly<Record<string, Known>>;

  private constructor(path: string, now: () => number, files: Readonly<Record<string, Known>>) {
    this.#path = path;
    this.#now = now;
    this.#files = files;
  }

  static async open(path: string, now: () => number): Promise<DigestCache> {
    return new DigestCache(path, now, ((await readJsonCache(path)) ?? {}) as Record<string, Known>);
  }

  /**
   * Returns `sha256:<hex>` of the file after comparing it with `expected`, a digest text. Rejects with the
   * errors of verifyFile.
   */
  async verify(file: string, expected: string | undefined): Promise<string> {
    const begun = this.#now();
    const stamp = await readStamp(file);
    const found = this.#files[file];
    const known = found !== undefined && found.stamp === stamp?.text ? found : undefined;
    const digest = known?.digest ?? (await digestOfFile(file, 'sha256', expected));
    const alsoKnown = [digest, ...(known?.verified ?? [])];
    const isNew = expected !== undefined && !alsoKnown.includes(expected);
    if (isNew) await verifyFile(file, expected);
    if (stamp !== undefined && begun - stamp.changed > stamp.settledAfter && (known === undefined || isNew)) {
      const verified = isNew ? [...alsoKnown.slice(1), expected] : alsoKnown.slice(1);
      this.#files = { ...this.#files, [file]: { stamp: stamp.text, digest, verified } };
      await writeDurably(this.#path, `${JSON.stringify(this.#files)}\n`);
    }
    return digest;
  }
}

interface Stamp {
  readonly text: string;
  /** Time of the last change, in milliseconds, as `settledAfter` is. */
  readonly changed: number;
  readonly settledAfter: number;
}

/**
 * Returns undefined if the file does not exist. Reading the file for its digest then reports the error with
 * its name.
 */
async function readStamp(file: string): Promise<Stamp | undefined> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = await stat(file, { bigint: true });
    const isCoarse = ctimeNs % 1_000_000_000n === 0n;
    return {
      text: [dev, ino, size, mtimeNs, ctimeNs].join('/'),
      changed: Number(ctimeMs),
      settledAfter: isCoarse ? settledAfter.seconds : settledAfter.ticks,
    };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
