import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonRecord } from '../schema/json.ts';
import { replaceFile } from '../../../platform/replace-file.ts';

/** Signs the tokens of service accounts, and tells them from others. */
export interface TokenKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** Tokens that were found to be of this key, with their claims, the oldest first (json-web-token.ts). */
  readonly genuine: Map<string, JsonRecord>;
}

/**
 * The key from `<directory>/pki/service-account.key` (PKCS #8, 0600), made when missing; kept for the life of the
 * cluster, so that tokens outlive a restart. Throws where the file is there and no key.
 */
export function loadTokenKey(directory: string): TokenKey {
  const folder = join(directory, 'pki');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, 'service-account.key');
  const pem = read(file) ?? make(file);
  const privateKey = createPrivateKey(pem);
  return { privateKey, publicKey: createPublicKey(privateKey), genuine: new Map() };
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
