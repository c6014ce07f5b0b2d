import { createHash, sign, verify } from 'node:crypto';
import { isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { TokenKey } from './token-key.ts';

const algorithm = 'ES256';
const encoding = { dsaEncoding: 'ieee-p1363' } as const;

/** Returns the claims as a signed JSON Web Token (RFC 7515, ES256). */
export function signToken({ privateKey, publicKey }: TokenKey, claims: JsonRecord): string {
  const der = publicKey.export({ type: 'spki', format: 'der' });
  const kid = createHash('sha256').update(der).digest('base64url');
  const signed = `${encode({ alg: algorithm, kid })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, ...encoding });
  return `${signed}.${signature.toString('base64url')}`;
}

/** The number of verified tokens that are cached per key. */
const remembered = 256;

/**
 * Returns the claims of a token that this key signed; undefined for other tokens. The caller must check the
 * times. Verified tokens are cached: a signature costs more than the rest of a request, and a client sends
 * the same token with every request.
 */
export function verifyToken(key: TokenKey, token: string): JsonRecord | undefined {
  const known = key.genuine;
  const before = known.get(token);
  if (before !== undefined) return before;
  const claims = isGenuine(key, token) ? decode(token.split('.')[1] ?? '') : undefined;
  if (claims === undefined) return undefined;
  const [oldest] = known.keys();
  if (known.size >= remembered && oldest !== undefined) known.delete(oldest);
  known.set(token, claims);
  return claims;
}

function isGenuine({ publicKey }: TokenKey, token: string): boolean {
  const [header = '', claims = '', signature = '', ...more] = token.split('.');
  if (more.length > 0 || decode(header)?.['alg'] !== algorithm) return false;
  const signed = Buffer.from(`${header}.${claims}`);
  return verify('sha256', signed, { key: publicKey, ...encoding }, Buffer.from(signature, 'base64url'));
}

function encode(value: JsonRecord): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(part: string): JsonRecord | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return isRecord(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
