import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { ProductError } from '../../errors/product-error.ts';
import { openForReading } from '../archive/open-for-reading.ts';
import { formatDigest, parseDigests, strongestDigest } from './digest.ts';
import type { DigestAlgorithm } from './digest.ts';

/** Bytes per read. A stream of Node takes twice the time for 100 MB, most of it for its own chunks. */
const pieceSize = 1 << 20;

/**
 * Returns the file's digest in BOSH's text form (`sha256:<hex>`; SHA-1 bare). Never has more than two pieces
 * of the file in memory. Throws FILE_NOT_FOUND, with the `expected` digest, if the file cannot be read.
 */
export async function digestOfFile(
  path: string,
  algorithm: DigestAlgorithm = 'sha256',
  expected?: string,
): Promise<string> {
  const hash = createHash(algorithm);
  await using file = await openForReading(path, { expected });
  await addTo(hash, file);
  return formatDigest({ algorithm, hex: hash.digest('hex') });
}

async function addTo(hash: Hash, file: FileHandle): Promise<void> {
  let [piece, other] = [Buffer.allocUnsafe(pieceSize), Buffer.allocUnsafe(pieceSize)];
  let reading = file.read(piece);
  for (let { bytesRead } = await reading; bytesRead > 0; { bytesRead } = await reading) {
    reading = file.read(other);
    hash.update(piece.subarray(0, bytesRead));
    [piece, other] = [other, piece];
  }
}

/**
 * Resolves if the file has that digest (in any form of parseDigests; of several, the strongest must match, as
 * in bosh-utils). Rejects with DIGEST_MISMATCH, with file, expected and actual digest, or FILE_NOT_FOUND,
 * with file and expected digest.
 */
export async function verifyFile(path: string, digest: string): Promise<void> {
  const expected = strongestDigest(parseDigests(digest));
  const wanted = formatDigest(expected);
  const found = await digestOfFile(path, expected.algorithm, wanted);
  if (found !== wanted) throw digestMismatch(path, found, wanted);
}

/**
 * Passes a file's bytes on, and throws DIGEST_MISMATCH at the end if they do not have that digest. The bytes
 * are verified as they are read, so the file cannot be swapped in between.
 */
export async function* verifyingStream(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  digest: string,
): AsyncGenerator<Uint8Array> {
  const expected = strongestDigest(parseDigests(digest));
  const hash = createHash(expected.algorithm);
  for await (const piece of bytes) {
    hash.update(piece);
    yield piece;
  }
  const [wanted, found] = [formatDigest(expected), formatDigest({ ...expected, hex: hash.digest('hex') })];
  if (found !== wanted) throw digestMismatch(path, found, wanted);
}

/** Returns the error for a file with a wrong digest. */
export function digestMismatch(path: string, found: string, wanted: string): ProductError {
  return new ProductError(
    'DIGEST_MISMATCH',
    `'${path}' has the digest ${found}, expected ${wanted}; the file is corrupt or another version`,
  );
}
