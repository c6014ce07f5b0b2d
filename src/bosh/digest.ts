import { ProductError } from '../errors/product-error.ts';
import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { openForReading } from './archive/open-for-reading.ts';

export type DigestAlgorithm = 'sha1' | 'sha256' | 'sha512';

export interface Digest {
  readonly algorithm: DigestAlgorithm;
  /** Lower-case hex digits. */
  readonly hex: string;
}

const lengths: Readonly<Record<DigestAlgorithm, number>> = { sha1: 40, sha256: 64, sha512: 128 };
const strongestFirst: readonly DigestAlgorithm[] = ['sha512', 'sha256', 'sha1'];

/**
 * Parses BOSH's digest text: bare hex is SHA-1, `sha256:hex` and `sha512:hex` name their algorithm, and `;`
 * joins several digests of one file (bosh-utils: crypto/multiple_digest.go). Throws DIGEST_INVALID. Unknown
 * algorithms are an error only if there is no known one.
 */
export function parseDigests(text: string): readonly [Digest, ...Digest[]] {
  const parts = text.split(';').filter((part) => part !== '');
  const [first, ...others] = parts.flatMap((part) => parseDigest(part, text) ?? []);
  if (first === undefined) {
    throw new ProductError(
      'DIGEST_INVALID',
      `'${shorten(text)}' is not a digest; expected 40 hex digits (SHA-1), sha256:<64 hex digits> or sha512:<128 hex digits>`,
    );
  }
  return [first, ...others];
}

/**
 * Returns the digest of the strongest algorithm, which is the one that must match (bosh-utils:
 * crypto/multiple_digest.go).
 */
export function strongestDigest(digests: readonly [Digest, ...Digest[]]): Digest {
  const rank = ({ algorithm }: Digest): number => strongestFirst.indexOf(algorithm);
  return digests.reduce((best, digest) => (rank(digest) < rank(best) ? digest : best));
}

/** Formats a digest: SHA-1 bare, any other algorithm with its name and a colon. */
export function formatDigest({ algorithm, hex }: Digest): string {
  return algorithm === 'sha1' ? hex : `${algorithm}:${hex}`;
}

function parseDigest(part: string, whole: string): Digest | undefined {
  const colon = part.indexOf(':');
  const name = colon === -1 ? 'sha1' : part.slice(0, colon);
  const hex = part.slice(colon + 1).toLowerCase();
  const algorithm = strongestFirst.find((known) => known === name);
  if (algorithm === undefined) return undefined;
  if (hex.length === lengths[algorithm] && /^[0-9a-f]+$/.test(hex)) return { algorithm, hex };
  throw new ProductError(
    'DIGEST_INVALID',
    `'${shorten(whole)}' is not a digest: ${algorithm} needs ${lengths[algorithm]} hex digits`,
  );
}

function shorten(text: string): string {
  return text.length > 140 ? `${text.slice(0, 140)}…` : text;
}

/** Bytes per read. A stream of Node takes twice the time for 100 MB, most of it for its own chunks. */
const chunkSize = 1 << 20;

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
  let [chunk, other] = [Buffer.allocUnsafe(chunkSize), Buffer.allocUnsafe(chunkSize)];
  let reading = file.read(chunk);
  for (let { bytesRead } = await reading; bytesRead > 0; { bytesRead } = await reading) {
    reading = file.read(other);
    hash.update(chunk.subarray(0, bytesRead));
    [chunk, other] = [other, chunk];
  }
}

/**
 * Resolves if the file has that digest (in any form of parseDigests; of several, the strongest must match, as
 * in bosh-utils). Rejects with DIGEST_MISMATCH, with file, expected and actual digest, or FILE_NOT_FOUND,
 * with file and expected digest.
 */
export async function verifyFile(path: string, digest: string): Promise<void> {
  const expected = strongestDigest(parseDigests(digest));
  const expectedDigest = formatDigest(expected);
  const found = await digestOfFile(path, expected.algorithm, expectedDigest);
  if (found !== expectedDigest) throw digestMismatch(path, found, expectedDigest);
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
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
  const [requested, found] = [formatDigest(expected), formatDigest({ ...expected, hex: hash.digest('hex') })];
  if (found !== requested) throw digestMismatch(path, found, requested);
}

/** Returns the error for a file with a wrong digest. */
export function digestMismatch(path: string, found: string, expected: string): ProductError {
  return new ProductError(
    'DIGEST_MISMATCH',
    `'${path}' has the digest ${found}, expected ${expected}; the file is corrupt or another version`,
  );
}
