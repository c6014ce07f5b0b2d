import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonRecord } from '../schema/json.ts';
import { replaceFile } from '../../../src/platform/durable-file.ts';

/** The key that signs and verifies the tokens of service accounts. */
export interface TokenKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** Verified tokens of this key with their claims, oldest first (json-web-token.ts). */
  readonly genuine: Map<string, JsonRecord>;
}

/**
 * Returns the key from `<directory>/pki/service-account.key` (PKCS #8, 0600). Creates it if it is missing,
 * and keeps it for the life of the cluster, so that tokens survive a restart. Throws if the file is not a
 * key.
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
