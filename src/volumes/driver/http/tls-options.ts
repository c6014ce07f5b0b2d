import type { ServerOptions } from 'node:https';
import type { TlsFiles } from '../config.ts';
import { readPem } from '../read-pem.ts';

/** Returns the options for mutual TLS. Clients need a certificate of the CA. */
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
