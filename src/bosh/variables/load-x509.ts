import type * as library from '@peculiar/x509';

export type X509 = typeof library;

/**
 * The certificate library, loaded when a certificate is made. tsyringe, inside of it, insists on these functions of the
 * reflect-metadata package and gets along without data.
 */
export async function loadX509(): Promise<X509> {
  if (!('getMetadata' in Reflect)) {
    const nothing = (): undefined => undefined;
    Object.assign(Reflect, { getMetadata: nothing, getOwnMetadata: nothing, defineMetadata: nothing });
  }
  return import('@peculiar/x509');
}
