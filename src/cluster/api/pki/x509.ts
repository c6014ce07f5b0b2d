import { webcrypto } from 'node:crypto';
import type * as x509Library from '@peculiar/x509';

export type X509 = typeof x509Library;

/** All keys of the cluster are of this kind. */
export const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/**
 * The certificate library, loaded on first use: most starts of a cluster find their certificates made.
 * tsyringe, inside it, insists on functions of the reflect-metadata package and gets along without data.
 */
export async function loadX509(): Promise<X509> {
  if (!('getMetadata' in Reflect)) {
    const nothing = (): undefined => undefined;
    Object.assign(Reflect, { getMetadata: nothing, getOwnMetadata: nothing, defineMetadata: nothing });
  }
  return import('@peculiar/x509');
}

export function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
}

/** The private key as PKCS #8 in PEM. */
export async function privateKeyPem(x509: X509, key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}
