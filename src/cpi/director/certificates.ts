import { X509Certificate } from 'node:crypto';
import { ProductError } from '../../errors/product-error.ts';

const blocks = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----.*?(?:-----END [A-Z0-9 ]+-----|$)/gsu;

/**
 * Throws DIRECTOR_ERROR, which quotes nothing, where `ca` has no certificate, or one that cannot be read: Node passes over it
 * and trusts less than was meant, Bun throws what looks like a fault of ours.
 */
export function requireReadable(ca: string): void {
  const found = ca.match(blocks) ?? [];
  if (found.length > 0 && found.every(isReadable)) return;
  throw new ProductError(
    'DIRECTOR_ERROR',
    "director.ca of the CPI's configuration holds what cannot be read as a certificate; give it whole, in PEM with its line breaks",
  );
}

function isReadable(block: string): boolean {
  try {
    return new X509Certificate(block).subject !== undefined;
  } catch {
    return false;
  }
}
