import { createHash, sign, verify } from 'node:crypto';
import { isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { TokenKey } from './token-key.ts';

const algorithm = 'ES256';
const encoding = { dsaEncoding: 'ieee-p1363' } as const;

/** Claims as a signed JSON Web Token (RFC 7515, ES256). */
export function signToken({ privateKey, publicKey }: TokenKey, claims: JsonRecord): string {
  const der = publicKey.export({ type: 'spki', format: 'der' });
  const kid = createHash('sha256').update(der).digest('base64url');
  const signed = `${encode({ alg: algorithm, kid })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, ...encoding });
  return `${signed}.${signature.toString('base64url')}`;
}

/** The claims of a token that this key signed; undefined for anything else. Times are for the caller to look at. */
export function verifyToken({ publicKey }: TokenKey, token: string): JsonRecord | undefined {
  const [header = '', claims = '', signature = '', ...more] = token.split('.');
  if (more.length > 0 || decode(header)?.['alg'] !== algorithm) return undefined;
  const signed = Buffer.from(`${header}.${claims}`);
  const genuine = verify(
    'sha256',
    signed,
    { key: publicKey, ...encoding },
    Buffer.from(signature, 'base64url'),
  );
  return genuine ? decode(claims) : undefined;
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
