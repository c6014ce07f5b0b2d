import { X509Certificate } from 'node:crypto';

const blocks = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----.*?(?:-----END [A-Z0-9 ]+-----|$)/gsu;

/**
 * Returns whether a PEM text contains certificates and all of them can be read. Node.js skips an unreadable
 * certificate and trusts fewer than intended, and Bun throws an error that looks like a defect of this
 * program.
 */
export function isCertificatePem(pem: string): boolean {
  const found = pem.match(blocks) ?? [];
  return found.length > 0 && found.every(isReadable);
}

function isReadable(block: string): boolean {
  try {
    return new X509Certificate(block).subject !== undefined;
  } catch {
    return false;
  }
}
