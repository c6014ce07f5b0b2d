import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { unpackTar, type UnpackOptionsFS } from 'modern-tar/fs';
import { ProductError } from '../../errors/product-error.ts';
import { formatDigest, parseDigests, strongestDigest, digestMismatch } from '../digest.ts';
import { ByteBudget, printableName, type ArchiveLimits, type EntryCounter } from './archive-limits.ts';
import { compressionIn, unreadCompression } from './compression.ts';
import { openForReading } from './open-for-reading.ts';
import { withPath } from '../../platform/write-file.ts';

type Header = Parameters<NonNullable<UnpackOptionsFS['filter']>>[0];

export interface UnpackOptions {
  /** Writes only entries for which this returns true. The name has no leading `./` and no trailing `/`. */
  readonly only?: (name: string) => boolean;
  /**
   * The expected digest. It is verified again while unpacking, because the file may have changed since the
   * last check.
   */
  readonly digest?: string | undefined;
  /**
   * The budget that this archive shares with others. By default the archive has its own, with archiveLimits.
   */
  readonly budget?: ByteBudget | undefined;
}

const links: readonly (string | undefined)[] = ['symlink', 'link'];
const supportedTypes: readonly (string | undefined)[] = [...links, 'file', 'directory', undefined];
const chunkSize = 1 << 18;

/**
 * Unpacks a tar or tar.gz into a directory, which is created if it does not exist. Writes nothing outside of
 * the directory. Throws ARCHIVE_INVALID with archive and entry for absolute names and links, `..` that leaves
 * the directory, writes through links, special files, a truncated or corrupt archive, and an archive beyond
 * the limits. Throws DIGEST_MISMATCH after the whole archive has been read, if it does not have the expected
 * digest. Does not remove files that were written before an error.
 */
export async function unpackArchive(
  archivePath: string,
  directory: string,
  options: UnpackOptions = {},
): Promise<void> {
  await using file = await openForReading(archivePath);
  const { budget = new ByteBudget() } = options;
  const compression = await compressionIn(file);
  if (compression !== 'gzip' && compression !== 'none')
    throw unreadCompression(compression, `'${archivePath}'`, archivePath);
  const admission = new Admission(archivePath, options.only, budget);
  const target = unpackTar(directory, { strict: true, filter: (header) => admission.admits(header) });
  const { bytes, verify } = verifiedBytes(archivePath, file, options.digest);
  const limited = budget.limit(
    (excess) => new ProductError('ARCHIVE_INVALID', `'${archivePath}' unpacks to ${excess}`),
  );
  try {
    if (compression === 'gzip') await pipeline(bytes, createGunzip({ chunkSize }), limited, target);
    else await pipeline(bytes, limited, target);
  } catch (error) {
    throw describe(archivePath, withPath(directory, error));
  }
  await verify();
}

/** Normalises an entry name (`./a`, `a/` or `a`). */
export function entryName(name: string): string {
  return posix.normalize(name).replace(/^\.\//, '').replace(/\/$/, '');
}

/**
 * Returns the bytes of the file, and a function that checks their digest, to be called after they have been
 * read.
 */
function verifiedBytes(
  archive: string,
  file: FileHandle,
  digest: string | undefined,
): { readonly bytes: AsyncGenerator<Uint8Array>; readonly verify: () => Promise<void> } {
  const expected = digest === undefined ? undefined : strongestDigest(parseDigests(digest));
  const hash = expected === undefined ? undefined : createHash(expected.algorithm);
  let position = 0;
  const next = async (): Promise<Buffer> => {
    const chunk = Buffer.allocUnsafe(chunkSize);
    const { bytesRead } = await file.read(chunk, 0, chunkSize, position);
    position += bytesRead;
    const read = chunk.subarray(0, bytesRead);
    hash?.update(read);
    return read;
  };
  async function* all(): AsyncGenerator<Uint8Array> {
    for (let chunk = await next(); chunk.length > 0; chunk = await next()) yield chunk;
  }
  const verify = async (): Promise<void> => {
    if (expected === undefined || hash === undefined) return;
    // Bytes after the end of the gzip stream are part of the digest.
    for await (const rest of all()) void rest;
    const [requested, found] = [
      formatDigest(expected),
      formatDigest({ ...expected, hex: hash.digest('hex') }),
    ];
    if (found !== requested) throw digestMismatch(archive, found, requested);
  };
  return { bytes: all(), verify };
}

/** Decides which entries of an archive are written. */
class Admission {
  readonly #archive: string;
  readonly #only: UnpackOptions['only'];
  readonly #limits: ArchiveLimits;
  readonly #names = new Set<string>();
  readonly #counter: EntryCounter;

  constructor(archive: string, only: UnpackOptions['only'], { limits, entries }: ByteBudget) {
    this.#archive = archive;
    this.#only = only;
    this.#limits = limits;
    this.#counter = entries;
  }

  admits(header: Header): boolean {
    const beyond = this.#counter.add(header.name, header.linkname ?? '');
    if (beyond !== undefined) throw this.#refusal(header, beyond);
    const name = entryName(header.name);
    if (posix.isAbsolute(header.name)) throw this.#refusal(header, 'has an absolute name');
    if (name === '..' || name.startsWith('../')) throw this.#refusal(header, 'is outside of the archive');
    if (!supportedTypes.includes(header.type)) throw this.#refusal(header, `is of type '${header.type}'`);
    if (links.includes(header.type)) this.#checkLink(header, name);
    if (header.type !== 'directory') {
      if (this.#names.has(name)) throw this.#refusal(header, 'is in the archive twice');
      this.#names.add(name);
    }
    if (/^[^/]+\.MF$/.test(name) && header.size > this.#limits.manifest)
      throw this.#refusal(
        header,
        `has ${header.size} bytes; a manifest has ${this.#limits.manifest} at most`,
      );
    return this.#only === undefined || this.#only(name);
  }

  #checkLink({ linkname: target = '', ...header }: Header, name: string): void {
    const from = header.type === 'symlink' ? posix.dirname(name) : '.';
    if (posix.isAbsolute(target)) throw this.#refusal(header, `links to the absolute path '${target}'`);
    if (posix.join(from, target).split('/')[0] === '..')
      throw this.#refusal(header, `links outside of the archive, to '${target}'`);
  }

  #refusal({ name }: Pick<Header, 'name'>, reason: string): ProductError {
    return new ProductError(
      'ARCHIVE_INVALID',
      `'${this.#archive}' was not unpacked: its entry '${printableName(name)}' ${reason}`,
    );
  }
}

function describe(archive: string, error: unknown): unknown {
  if (error instanceof ProductError || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code !== '' && !code.startsWith('Z_')) return error;
  return new ProductError('ARCHIVE_INVALID', `'${archive}' cannot be unpacked: ${error.message}`, {
    cause: error,
  });
}
