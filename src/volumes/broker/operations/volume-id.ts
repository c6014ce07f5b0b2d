import { createHash, createHmac } from 'node:crypto';
import type { SigningKey } from '../../signature/signature-keys.ts';

/** The digest of an id: an HMAC with a key of the operator, or the md5 of the old brokers. */
type DigestScheme = { readonly hmacKey: Buffer } | 'md5';

/** The way in which volume ids are made: by a digest or by a signature. */
export type VolumeIdScheme = DigestScheme | { readonly signingKey: SigningKey };

/**
 * Returns the id of a volume. Bindings of the same instance with the same options have the same id. The md5
 * id includes the password of the share, so that anyone who can see the id can brute-force the password. Use
 * it only while volumes of an old broker are mounted on the cells.
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
 * Returns an object of strings as Go's encoding/json writes a map: the keys in byte order, and < > & U+2028
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
