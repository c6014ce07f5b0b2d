import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  createHash,
  sign,
  verify,
} from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonRecord, isRecord } from '../schema/json.ts';
import { replaceFile } from '../../../src/platform/durable-file.ts';

/** The key that signs and verifies the tokens of service accounts. */
export interface TokenKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** Verified tokens of this key with their claims, oldest first (json-web-token.ts). */
  readonly verifiedTokens: Map<string, JsonRecord>;
}

/**
 * Returns the key from `<directory>/pki/service-account.key` (PKCS #8, 0600). Creates it if it is missing,
 * and keeps it for the life of the cluster, so that tokens survive a restart. Throws if the file is not a
 * key.
 */
export function loadTokenKey(directory: string): TokenKey {
  const pkiDirectory = join(directory, 'pki');
  mkdirSync(pkiDirectory, { recursive: true, mode: 0o700 });
  const file = join(pkiDirectory, 'service-account.key');
  const pem = read(file) ?? make(file);
  const privateKey = createPrivateKey(pem);
  return { privateKey, publicKey: createPublicKey(privateKey), verifiedTokens: new Map() };
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function make(file: string): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  replaceFile(file, Buffer.from(pem));
  return pem;
}

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
const maxVerifiedTokens = 256;

/**
 * Returns the claims of a token that this key signed; undefined for other tokens. The caller must check the
 * times. Verified tokens are cached: a signature costs more than the rest of a request, and a client sends
 * the same token with every request.
 */
export function verifyToken(key: TokenKey, token: string): JsonRecord | undefined {
  const known = key.verifiedTokens;
  const before = known.get(token);
  if (before !== undefined) return before;
  const claims = isGenuine(key, token) ? decode(token.split('.')[1] ?? '') : undefined;
  if (claims === undefined) return undefined;
  const [oldest] = known.keys();
  if (known.size >= maxVerifiedTokens && oldest !== undefined) known.delete(oldest);
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
