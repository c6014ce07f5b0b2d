import { ProductError } from '../../errors/product-error.ts';
import type { Credentials } from './access.ts';

/** The expected content of PEM text. */
export type PemKind = 'certificate' | 'key';

const block = /-----BEGIN (?<label>[A-Z0-9 ]+)-----(?<body>.*?)-----END \k<label>-----/gsu;

/**
 * Returns why a text cannot be certificates or a private key in PEM, without quoting it; undefined if it can
 * be. Checks only the form, so that every runtime gets the same result and no call pays for loading
 * node:crypto. Whether a certificate matches a key shows when connecting.
 */
export function pemProblem(text: string, kind: PemKind): string | undefined {
  const begun = text.split('-----BEGIN ').length - 1;
  if (begun === 0) return 'does not hold PEM';
  const blocks = [...text.matchAll(block)].map(({ groups }) => ({ label: '', body: '', ...groups }));
  if (blocks.length < begun) return 'is cut off: a line -----BEGIN has no -----END behind it';
  const requested = blocks.filter(({ label }) => matchesKind(label, kind));
  const [first] = requested;
  if (first === undefined) return `holds PEM, and no ${kind === 'key' ? 'private key' : 'certificate'}`;
  if (requested.some(isEncrypted))
    return 'is encrypted, and there is no place for its passphrase: give the key as openssl pkey -in FILE prints it';
  if (!requested.every(({ body }) => isComplete(body))) return 'is cut off or damaged';
  return undefined;
}

function matchesKind(label: string, kind: PemKind): boolean {
  return kind === 'key' ? /(?:^| )PRIVATE KEY$/u.test(label) : /(?:^| )CERTIFICATE$/u.test(label);
}

/** PKCS #8 marks encryption in the label, the older forms in a header (RFC 7468, RFC 1421). */
function isEncrypted({ label, body }: { readonly label: string; readonly body: string }): boolean {
  return label.startsWith('ENCRYPTED ') || body.includes('Proc-Type: 4,ENCRYPTED');
}

/** True if the body is one DER sequence of the length in its header (X.690, 8.1.3). */
function isComplete(body: string): boolean {
  const bytes = decode(body);
  if (bytes === undefined || bytes.charCodeAt(0) !== 0x30) return false;
  const short = bytes.charCodeAt(1);
  if (short < 0x80) return bytes.length === 2 + short;
  const count = short - 0x80;
  let length = 0;
  for (let index = 0; index < count; index += 1) length = length * 256 + bytes.charCodeAt(2 + index);
  return bytes.length === 2 + count + length;
}

/** Decodes base64; undefined if the text is not base64. */
function decode(base64: string): string | undefined {
  try {
    return atob(base64);
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}

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
