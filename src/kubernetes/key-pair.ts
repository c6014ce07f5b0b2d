import { ProductError } from '../errors/product-error.ts';
import type { Credentials } from './credentials.ts';

/**
 * INVALID_CONFIG where a client certificate and its key are no pair, or one of them cannot be read; else
 * undefined. No runtime opens a connection with such ones, and each has other words for it.
 */
export function checkKeyPair({ certificate, key }: Credentials): ProductError | undefined {
  if (certificate === undefined || key === undefined) return undefined;
  // not imported: it costs the CPI's executable six milliseconds
  const { X509Certificate, createPrivateKey } = process.getBuiltinModule('node:crypto');
  const read = <T>(what: string, make: () => T): T | ProductError => {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
      return unusable(`${what} cannot be read`, error);
    }
  };
  const x509 = read('the client certificate', () => new X509Certificate(certificate));
  if (x509 instanceof ProductError) return x509;
  const parsed = read('the client key', () => createPrivateKey(key));
  if (parsed instanceof ProductError) return parsed;
  return x509.checkPrivateKey(parsed) ? undefined : unusable('the client certificate is of another key');
}

/** A kubeconfig, the properties or a plugin may have given them. */
function unusable(problem: string, cause?: Error): ProductError {
  return new ProductError(
    'INVALID_CONFIG',
    `${problem}; give client-certificate and client-key (in the properties client_certificate and client_key) that were made for each other`,
    { cause },
  );
}
