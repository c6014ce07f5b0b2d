import { readFile } from 'node:fs/promises';
import type { ServerOptions } from 'node:https';
import { ProductError } from '../../../errors/product-error.ts';
import type { TlsFiles } from '../config.ts';

/** Mutual TLS: clients show a certificate of the CA. */
export async function tlsOptions({ ca, certificate, key }: TlsFiles): Promise<ServerOptions> {
  return {
    ca: await readPem('caFile', ca),
    cert: await readPem('certFile', certificate),
    key: await readPem('keyFile', key),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  };
}

async function readPem(flag: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ProductError('DRIVER_CONFIG_INVALID', `'${path}' of -${flag} cannot be read`, { cause: error });
  }
}
