import type { KeyObject } from 'node:crypto';
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';

/** The private key of the broker. */
export interface SigningKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** The driver's public keys by their ids. There are several while the broker's key is being replaced. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** Parses the output of `openssl genpkey -algorithm ed25519`. The error does not quote it. */
export function readSigningKey(pem: string): SigningKey | { readonly fault: string } {
  const key = ed25519(() => createPrivateKey(pem));
  if (key === undefined)
    return { fault: 'must be a private key of Ed25519 in PEM: openssl genpkey -algorithm ed25519' };
  return { id: keyId(createPublicKey(key)), key };
}

/** Parses one or more concatenated public keys, each as `openssl pkey -pubout` writes it. */
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
    // OpenSSL's error for text that is not a key may quote the text
    return undefined;
  }
}

/**
 * Returns the id of a key. It is short, because it becomes part of a file name. A collision is harmless:
 * verification fails.
 */
const keyId = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
    .slice(0, 8);
