import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { parseDigests, type DigestAlgorithm } from '../../bosh/digest.ts';
import { ProductError } from '../../errors/product-error.ts';

/**
 * Reads a file once and throws AGENT_BLOB_INVALID unless it matches every digest in `digest` (several are
 * joined by `;`). It does not check only the strongest one. `what` names the file in the error.
 */
export async function verifyDigests(path: string, digest: string, what: string): Promise<void> {
  const digests = parseDigests(digest);
  const actual = await digestFile(
    path,
    digests.map(({ algorithm }) => algorithm),
  );
  for (const { algorithm, hex } of digests) {
    const found = actual.get(algorithm);
    if (found === hex) continue;
    throw new ProductError(
      'AGENT_BLOB_INVALID',
      `${what} has ${algorithm} ${found}, expected ${hex}: upload it again`,
    );
  }
}

/** Returns the bare SHA-1 of a file, as upstream's agent does for the blobs that it creates. */
export async function sha1OfFile(path: string): Promise<string> {
  const sha1 = (await digestFile(path, ['sha1'])).get('sha1');
  if (sha1 === undefined) throw new Error('no sha1 was computed');
  return sha1;
}

/** Returns the SHA-512 of a file with its prefix, as in the response of bundle_logs. */
export async function sha512OfFile(path: string): Promise<string> {
  return `sha512:${(await digestFile(path, ['sha512'])).get('sha512')}`;
}

/**
 * Returns SHA-1 and SHA-512 of a file in one text, as upstream's agent does for uploads to a signed URL
 * (bosh-utils: crypto/multiple_digest.go).
 */
export async function multiDigestOfFile(path: string): Promise<string> {
  const digests = await digestFile(path, ['sha1', 'sha512']);
  return `${digests.get('sha1')};sha512:${digests.get('sha512')}`;
}

async function digestFile(
  path: string,
  algorithms: readonly DigestAlgorithm[],
): Promise<ReadonlyMap<DigestAlgorithm, string>> {
  const hashes = new Map([...new Set(algorithms)].map((algorithm) => [algorithm, createHash(algorithm)]));
  await pipeline(createReadStream(path), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) for (const hash of hashes.values()) hash.update(chunk);
  });
  return new Map([...hashes].map(([algorithm, hash]) => [algorithm, hash.digest('hex')]));
}
