import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { ProductError } from '../../errors/product-error.ts';
import { fileNotFound } from '../archive/open-for-reading.ts';
import { formatDigest, parseDigests, strongestDigest } from './digest.ts';
import type { DigestAlgorithm } from './digest.ts';

/** The file's digest in BOSH's text form (`sha256:<hex>`; SHA-1 bare). Streams; FILE_NOT_FOUND when there is no such file. */
export async function digestOfFile(path: string, algorithm: DigestAlgorithm = 'sha256'): Promise<string> {
  const hash = createHash(algorithm);
  try {
    await pipeline(createReadStream(path), hash);
  } catch (error) {
    throw fileNotFound(path, error) ?? error;
  }
  return formatDigest({ algorithm, hex: hash.digest('hex') });
}

/**
 * Resolves when the file has that digest (any form parseDigests reads; of several the strongest decides, as in
 * bosh-utils). Rejects with DIGEST_MISMATCH, naming file, expected and found digest, or FILE_NOT_FOUND.
 */
export async function verifyFile(path: string, digest: string): Promise<void> {
  const expected = strongestDigest(parseDigests(digest));
  const found = await digestOfFile(path, expected.algorithm);
  if (found === formatDigest(expected)) return;
  throw new ProductError(
    'DIGEST_MISMATCH',
    `'${path}' has the digest ${found}, expected ${formatDigest(expected)}; the file is corrupt or another version`,
  );
}
