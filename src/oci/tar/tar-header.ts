import { ProductError } from '../../errors/product-error.ts';

/**
 * The content of one header block of a tar (POSIX.1-2017 pax, "ustar Interchange Format"; GNU tar's base-256
 * numbers). Runtimes unpack layers with Go's archive/tar: a header is read as Go reads it, or rejected.
 */
export interface TarHeader {
  readonly name: string;
  /** `\0` in old tars: a file, or a folder if the name ends with a slash. */
  readonly type: string;
  /** The lowest nine bits are the permissions. */
  readonly mode: number;
  readonly size: number;
  readonly target: string;
  readonly major: number;
  readonly minor: number;
}

export const blockSize = 512;

/** Parses one header block. Throws ARCHIVE_INVALID if its checksum or a number is wrong. */
export function parseTarHeader(block: Buffer): TarHeader {
  const sum = numberAt(block, 148, 8);
  if (sum !== checksum(block))
    throw tarInvalid('a header has a wrong checksum: the file is damaged or is not a tar');
  const [name, prefix] = [textAt(block, 0, 100), prefixOf(block)];
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type: String.fromCharCode(block[156] ?? 0),
    mode: numberAt(block, 100, 8),
    size: numberAt(block, 124, 12),
    target: textAt(block, 157, 100),
    major: numberAt(block, 329, 8),
    minor: numberAt(block, 337, 8),
  };
}

/**
 * Returns the prefix of the name, which exists only in the POSIX format (and in star's, where it is shorter).
 */
function prefixOf(block: Buffer): string {
  const magic = block.toString('latin1', 257, 265);
  if (magic.startsWith('ustar\0'))
    return textAt(block, 345, block.toString('latin1', 508, 512) === 'tar\0' ? 131 : 155);
  if (magic === 'ustar  \0') {
    // GNU's format has times there. If they are not valid, Go reads them as a prefix.
    numberAt(block, 345, 12);
    numberAt(block, 357, 12);
  }
  return '';
}

/** Returns the sum of the block's bytes, with spaces in place of the checksum. */
function checksum(block: Buffer): number {
  let sum = 8 * 0x20;
  for (let index = 0; index < blockSize; index += 1)
    if (index < 148 || index >= 156) sum += block[index] ?? 0;
  return sum;
}

function textAt(block: Buffer, start: number, length: number): string {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end);
}

/** Reads octal digits or, if the first bit is set, a big-endian number. */
function numberAt(block: Buffer, start: number, length: number): number {
  if (block[start] === 0x80) {
    const value = block.subarray(start + 1, start + length).reduce((sum, byte) => sum * 256 + byte, 0);
    if (Number.isSafeInteger(value)) return value;
    throw tarInvalid('a header has a number that is too large');
  }
  const text = block.toString('latin1', start, start + length).replaceAll(/^[ \0]+|[ \0]+$/gu, '');
  if (!/^[0-7]*$/.test(text)) throw tarInvalid('a header has a number that cannot be read');
  return text === '' ? 0 : Number.parseInt(text, 8);
}

/** Returns the error for bytes that are not a tar, or a damaged one. */
export function tarInvalid(message: string): ProductError {
  return new ProductError('ARCHIVE_INVALID', message);
}
