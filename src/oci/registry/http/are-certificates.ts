import { X509Certificate } from 'node:crypto';

const blocks = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----.*?(?:-----END [A-Z0-9 ]+-----|$)/gsu;

/**
 * Whether a text in PEM has certificates, and each can be read. One that cannot, Node passes over and trusts less than was
 * meant, and Bun throws what looks like a fault of ours.
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
