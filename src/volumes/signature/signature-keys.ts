import type { KeyObject } from 'node:crypto';
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';

/** The broker's key. */
export interface SigningKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** The driver's keys by their ids: two or more while the broker's key is being replaced. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** Reads what `openssl genpkey -algorithm ed25519` writes. The fault does not quote it. */
export function readSigningKey(pem: string): SigningKey | { readonly fault: string } {
  const key = ed25519(() => createPrivateKey(pem));
  if (key === undefined)
    return { fault: 'must be a private key of Ed25519 in PEM: openssl genpkey -algorithm ed25519' };
  return { id: keyId(createPublicKey(key)), key };
}

/** Reads one public key or several, one after the other, each as `openssl pkey -pubout` writes it. */
export function readPublicKeys(pems: string): PublicKeys | { readonly fault: string } {
  const blocks = pems.match(/-----BEGIN PUBLIC KEY-----[^-]*-----END PUBLIC KEY-----/gu) ?? [];
  const rest = blocks.reduce((text, block) => text.replace(block, ''), pems);
  const keys = blocks.map((pem) => ed25519(() => createPublicKey(pem)));
  const read = keys.filter((key) => key !== undefined);
  if (read.length === 0 || read.length < keys.length || rest.trim() !== '')
    return { fault: 'must have public keys of Ed25519 in PEM, and nothing else: openssl pkey -pubout' };
  return new Map(read.map((key) => [keyId(key), key]));
}

function ed25519(read: () => KeyObject): KeyObject | undefined {
  try {
    const key = read();
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    // whatever OpenSSL says about a text that is no key may quote it
    return undefined;
  }
}

/** Short, as it is a part of a file name; a key that has another one's id only fails to verify. */
const keyId = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
    .slice(0, 8);
