import { posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { unpackTar } from 'modern-tar/fs';
import type { UnpackOptionsFS } from 'modern-tar/fs';
import { ProductError } from '../../errors/product-error.ts';
import { openForReading } from './open-for-reading.ts';

type Header = Parameters<NonNullable<UnpackOptionsFS['filter']>>[0];

export interface UnpackOptions {
  /** Only entries for which this is true are written; the name has no leading `./` and no trailing `/`. */
  readonly only?: (name: string) => boolean;
}

const links: readonly (string | undefined)[] = ['symlink', 'link'];
const known: readonly (string | undefined)[] = [...links, 'file', 'directory', undefined];

/**
 * Unpacks a tar or tar.gz into a folder, which is made when it does not exist. Nothing is written outside of it: absolute
 * names and links, `..` that leaves the folder, writes through links and special files are ARCHIVE_INVALID, naming archive
 * and entry; so is a truncated or corrupt archive. Files that were written before the fault stay.
 */
export async function unpackArchive(
  archivePath: string,
  directory: string,
  options: UnpackOptions = {},
): Promise<void> {
  const gzip = await isGzip(archivePath);
  const names = new Set<string>();
  const filter = (header: Header): boolean => admit(archivePath, header, names, options);
  const target = unpackTar(directory, { strict: true, filter });
  const source = (await openForReading(archivePath)).createReadStream({ highWaterMark: 1 << 18 });
  try {
    await (gzip ? pipeline(source, createGunzip({ chunkSize: 1 << 18 }), target) : pipeline(source, target));
  } catch (error) {
    throw describe(archivePath, error);
  }
}

/** Entry names come as `./a`, `a/` or `a`. */
export function entryName(name: string): string {
  return posix.normalize(name).replace(/^\.\//, '').replace(/\/$/, '');
}

async function isGzip(path: string): Promise<boolean> {
  await using file = await openForReading(path);
  const start = Buffer.alloc(2);
  await file.read(start, 0, 2, 0);
  return start[0] === 0x1f && start[1] === 0x8b;
}

function admit(archive: string, header: Header, names: Set<string>, { only }: UnpackOptions): boolean {
  const name = entryName(header.name);
  const refuse = (reason: string): ProductError =>
    new ProductError(
      'ARCHIVE_INVALID',
      `'${archive}' was not unpacked: its entry '${header.name}' ${reason}`,
    );
  if (posix.isAbsolute(header.name)) throw refuse('has an absolute name');
  if (name === '..' || name.startsWith('../')) throw refuse('lies outside of the archive');
  if (!known.includes(header.type)) throw refuse(`is of type '${header.type}'`);
  const target = header.linkname ?? '';
  if (links.includes(header.type)) {
    const from = header.type === 'symlink' ? posix.dirname(name) : '.';
    if (posix.isAbsolute(target)) throw refuse(`links to the absolute path '${target}'`);
    if (posix.join(from, target).split('/')[0] === '..')
      throw refuse(`links outside of the archive, to '${target}'`);
  }
  if (header.type !== 'directory') {
    if (names.has(name)) throw refuse('is there twice');
    names.add(name);
  }
  return only === undefined || only(name);
}

function describe(archive: string, error: unknown): unknown {
  if (error instanceof ProductError || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code !== '' && !code.startsWith('Z_')) return error;
  return new ProductError('ARCHIVE_INVALID', `'${archive}' cannot be unpacked: ${error.message}`, {
    cause: error,
  });
}
