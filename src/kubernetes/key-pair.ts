import { ProductError } from '../errors/product-error.ts';
import type { Credentials } from './credentials.ts';

/**
 * Returns an INVALID_CONFIG error if a client certificate and its key do not match, or if one of them cannot
 * be read; else undefined. No runtime opens a connection with such a pair, and each reports it with another
 * message.
 */
export function checkKeyPair({ certificate, key }: Credentials): ProductError | undefined {
  if (certificate === undefined || key === undefined) return undefined;
  // not imported: an import costs the CPI's executable six milliseconds
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

/** The hint names all sources: the pair may come from a kubeconfig, from the properties or from a plugin. */
function unusable(problem: string, cause?: Error): ProductError {
  return new ProductError(
    'INVALID_CONFIG',
    `${problem}; give client-certificate and client-key (in the properties client_certificate and client_key) that were made for each other`,
    { cause },
  );
}
