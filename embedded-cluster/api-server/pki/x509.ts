import { webcrypto } from 'node:crypto';
import type * as x509Library from '@peculiar/x509';

export type X509 = typeof x509Library;

/** The algorithm of all keys of the cluster. */
export const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/**
 * Loads the certificate library on first use: most starts of a cluster find existing certificates. The
 * library contains tsyringe, which requires functions of the package reflect-metadata but works if they store
 * nothing.
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

/** Returns the private key as PKCS #8 in PEM. */
export async function privateKeyPem(x509: X509, key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}
