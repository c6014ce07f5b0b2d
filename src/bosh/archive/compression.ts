import type { FileHandle } from 'node:fs/promises';
import { ProductError } from '../../errors/product-error.ts';
import { shellWord } from '../../platform/shell-word.ts';

/**
 * The compression of a tar, recognised by its first bytes. `none` for a plain tar and for an unknown format.
 */
export type Compression = 'none' | 'gzip' | 'zstd' | 'xz' | 'bzip2';

/** How many bytes compressionOf reads. */
export const compressionBytes = 6;

const starts: readonly (readonly [Compression, RegExp])[] = [
  ['gzip', /^1f8b/u],
  // A frame, or a skippable frame, with which pzstd begins (RFC 8878, 3.1).
  ['zstd', /^(28b52ffd|5.2a4d18)/u],
  ['xz', /^fd377a585a00/u],
  // The first block, or the end of a stream without blocks.
  ['bzip2', /^425a683[1-9](31|17)/u],
];

export function compressionOf(start: Uint8Array): Compression {
  const hex = Buffer.from(start.subarray(0, compressionBytes)).toString('hex');
  return starts.find(([, pattern]) => pattern.test(hex))?.[0] ?? 'none';
}

/** Returns the compression of the file. */
export async function compressionIn(file: FileHandle): Promise<Compression> {
  const start = Buffer.alloc(compressionBytes);
  const { bytesRead } = await file.read(start, 0, compressionBytes, 0);
  return compressionOf(start.subarray(0, bytesRead));
}

/**
 * Returns the error for an unsupported compression. `what` names the archive; the message has the command
 * that repacks the file `path`.
 */
export function unreadCompression(
  compression: Exclude<Compression, 'none' | 'gzip'>,
  what: string,
  path: string,
): ProductError {
  const target = `${path.replace(/\.(xz|bz2|zst)$/u, '')}.gz`;
  return new ProductError(
    'ARCHIVE_INVALID',
    `${what} is compressed with ${compression}, which is not supported. Repack it: ${compression} -dc ${shellWord(path)} | gzip > ${shellWord(target)}`,
  );
}
