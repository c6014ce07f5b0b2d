import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { type PublicKeys, readPublicKeys, readSigningKey, type SigningKey } from '../signed-volume-id.ts';

/** A key pair, as PEM and in the parsed forms of broker and driver. */
export interface SigningPair {
  readonly privatePem: string;
  readonly publicPem: string;
  readonly key: SigningKey;
  readonly keys: PublicKeys;
}

export function newPair(): SigningPair {
  const pair = generateKeyPairSync('ed25519');
  const privatePem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const publicPem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const key = readSigningKey(privatePem);
  const keys = readPublicKeys(publicPem);
  assert.ok('id' in key && !('problem' in keys));
  return { privatePem, publicPem, key, keys };
}
