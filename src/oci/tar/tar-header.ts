import { ProductError } from '../../errors/product-error.ts';

/**
 * What one header block of a tar says (POSIX.1-2017 pax, "ustar Interchange Format"; GNU tar's base-256 numbers). Runtimes
 * unpack layers with Go's archive/tar: it is read as that reads it, or refused.
 */
export interface TarHeader {
  readonly name: string;
  /** `\0` of old tars: a file, or by its name a folder. */
  readonly type: string;
  /** The lowest nine bits say who may read, write and run it. */
  readonly mode: number;
  readonly size: number;
  readonly target: string;
  readonly major: number;
  readonly minor: number;
}

export const blockSize = 512;

/** Reads one header block; ARCHIVE_INVALID where its checksum or a number is wrong. */
export function parseTarHeader(block: Buffer): TarHeader {
  const sum = numberAt(block, 148, 8);
  if (sum !== checksum(block))
    throw tarInvalid('a header has a wrong checksum: the tar is damaged, or is none');
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

/** What stands before the name, which only POSIX' format (and star's, with less of it) has. */
function prefixOf(block: Buffer): string {
  const magic = block.toString('latin1', 257, 265);
  if (magic.startsWith('ustar\0'))
    return textAt(block, 345, block.toString('latin1', 508, 512) === 'tar\0' ? 131 : 155);
  if (magic === 'ustar  \0') {
    // GNU's own format has times there; where they are none, Go takes them for a prefix
    numberAt(block, 345, 12);
    numberAt(block, 357, 12);
  }
  return '';
}

/** The sum of the block's bytes with the checksum's own taken as spaces. */
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

/** Octal digits, or, with the first bit set, a big-endian number. */
function numberAt(block: Buffer, start: number, length: number): number {
  if (block[start] === 0x80) {
    const value = block.subarray(start + 1, start + length).reduce((sum, byte) => sum * 256 + byte, 0);
    if (Number.isSafeInteger(value)) return value;
    throw tarInvalid('a header holds a number that is too large');
  }
  const text = block.toString('latin1', start, start + length).replaceAll(/^[ \0]+|[ \0]+$/gu, '');
  if (!/^[0-7]*$/.test(text)) throw tarInvalid('a header holds a number that cannot be read');
  return text === '' ? 0 : Number.parseInt(text, 8);
}

/** The error for what is no tar, or a damaged one. */
export function tarInvalid(message: string): ProductError {
  return new ProductError('ARCHIVE_INVALID', message);
}
