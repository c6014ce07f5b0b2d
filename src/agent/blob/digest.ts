import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { ProductError } from '../../errors/product-error.ts';

/** One digest of a BOSH digest string. */
export interface Digest {
  readonly algorithm: 'sha1' | 'sha256' | 'sha512';
  readonly hex: string;
}

const lengths = { sha1: 40, sha256: 64, sha512: 128 } as const;

/**
 * Parses `<sha1 hex>`, `sha256:<hex>`, `sha512:<hex>` or several joined with `;` (bosh-utils: crypto).
 * Throws AGENT_ARGUMENT_INVALID when no digest is there or one has the wrong shape.
 */
export function parseDigests(text: string): readonly Digest[] {
  return text.split(';').map((part) => parseDigest(part.trim()));
}

/** Reads a file once and throws AGENT_BLOB_INVALID unless it matches every digest given; `what` names it. */
export async function verifyFile(path: string, digests: readonly Digest[], what: string): Promise<void> {
  const actual = await fileDigests(path, [...new Set(digests.map((digest) => digest.algorithm))]);
  for (const { algorithm, hex } of digests) {
    const found = actual.get(algorithm);
    if (found === hex) continue;
    throw new ProductError(
      'AGENT_BLOB_INVALID',
      `${what} has ${algorithm} ${found}, expected ${hex}: upload it again`,
    );
  }
}

/** The digests of a file in hex, by algorithm. */
export async function fileDigests(
  path: string,
  algorithms: readonly Digest['algorithm'][],
): Promise<ReadonlyMap<Digest['algorithm'], string>> {
  const hashes = algorithms.map((algorithm) => ({ algorithm, hash: createHash(algorithm) }));
  await pipeline(createReadStream(path), async (chunks) => {
    for await (const chunk of chunks) for (const { hash } of hashes) hash.update(chunk as Buffer);
  });
  return new Map(hashes.map(({ algorithm, hash }) => [algorithm, hash.digest('hex')]));
}

function parseDigest(part: string): Digest {
  const colon = part.indexOf(':');
  const algorithm = colon < 0 ? 'sha1' : part.slice(0, colon);
  const hex = part.slice(colon + 1).toLowerCase();
  if (algorithm !== 'sha1' && algorithm !== 'sha256' && algorithm !== 'sha512') {
    throw new ProductError(
      'AGENT_ARGUMENT_INVALID',
      `digest algorithm '${algorithm}' is not sha1, sha256 or sha512`,
    );
  }
  if (hex.length !== lengths[algorithm] || !/^[0-9a-f]*$/.test(hex)) {
    throw new ProductError('AGENT_ARGUMENT_INVALID', `'${part}' is not a ${algorithm} digest in hex`);
  }
  return { algorithm, hex };
}
