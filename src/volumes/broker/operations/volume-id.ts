import { createHash, createHmac } from 'node:crypto';
import type { SigningKey } from '../../signature/signature-keys.ts';

/** An id made of a digest: an HMAC under a key of the operator, or the old brokers' md5. */
type DigestScheme = { readonly hmacKey: Buffer } | 'md5';

/** How a volume gets its id: of a digest, or signed. */
export type VolumeIdScheme = DigestScheme | { readonly signingKey: SigningKey };

/**
 * The id of a volume: bindings with the same options on the same instance have the same one. The md5 form
 * covers the share's password, so that who sees the id can try passwords: it is for cells on which volumes
 * of an old broker are mounted.
 */
export function createVolumeId(
  instanceId: string,
  mountOptions: Readonly<Record<string, string>>,
  scheme: DigestScheme,
): string {
  const text = stringifyLikeGo(mountOptions);
  const digest =
    scheme === 'md5'
      ? createHash('md5').update(text).digest('hex')
      : createHmac('sha256', scheme.hmacKey).update(`${instanceId}\n${text}`).digest('hex').slice(0, 32);
  return `${instanceId}-${digest}`;
}

/**
 * An object of texts as Go's encoding/json writes a map: keys in the order of their bytes, and < > & U+2028
 * U+2029 escaped.
 */
export function stringifyLikeGo(object: Readonly<Record<string, string>>): string {
  const keys = Object.keys(object).toSorted((one, other) =>
    Buffer.compare(Buffer.from(one), Buffer.from(other)),
  );
  const members = keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(object[key])}`);
  return `{${members.join(',')}}`.replaceAll(
    /[<>&\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
