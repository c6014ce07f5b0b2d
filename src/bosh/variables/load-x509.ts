import type * as library from '@peculiar/x509';

export type X509 = typeof library;

/**
 * Loads the certificate library when a certificate is needed. Its dependency tsyringe requires these
 * functions of the reflect-metadata package, but works if they return nothing.
 */
export async function loadX509(): Promise<X509> {
  if (!('getMetadata' in Reflect)) {
    const nothing = (): undefined => undefined;
    Object.assign(Reflect, { getMetadata: nothing, getOwnMetadata: nothing, defineMetadata: nothing });
  }
  return import('@peculiar/x509');
}
