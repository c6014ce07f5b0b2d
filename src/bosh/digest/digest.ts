import { ProductError } from '../../errors/product-error.ts';

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
