import type { webcrypto } from 'node:crypto';
import {
  generateKeys,
  keyAlgorithm,
  loadX509,
  privateKeyPem,
  type X509,
} from '../../../embedded-cluster/api-server/pki/certificates.ts';

/** PEM, with the key in PKCS #8. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Authority {
  readonly certificate: string;
  /** Organizations are the groups of a user. */
  client(user: string, groups?: readonly string[]): Promise<KeyPair>;
  server(user: string, names: ServerNames): Promise<KeyPair>;
}

interface ServerNames {
  readonly dns: readonly string[];
  readonly ip: readonly string[];
}

const day = 86_400_000;

/** Creates a new CA. Its key exists only in this object. Certificates are valid for ten years from `now`. */
export async function createAuthority(name: string, now: number): Promise<Authority> {
  const x509 = await loadX509();
  const keys = await generateKeys();
  const validity = { notBefore: new Date(now - day), notAfter: new Date(now + 3650 * day) };
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    ...validity,
    signingAlgorithm: keyAlgorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  const issue = async (user: string, groups: readonly string[], extensions: Extensions): Promise<KeyPair> => {
    const pair = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      subject: [...groups.map((group) => ({ O: [group] })), { CN: [user] }],
      issuer: own.subject,
      publicKey: pair.publicKey,
      signingKey: keys.privateKey,
      ...validity,
      signingAlgorithm: keyAlgorithm,
      extensions,
    });
    return pemOf(x509, certificate.toString('pem'), pair);
  };
  const { clientAuth, serverAuth } = x509.ExtendedKeyUsage;
  return {
    certificate: own.toString('pem'),
    client: (user, groups = []) => issue(user, groups, [new x509.ExtendedKeyUsageExtension([clientAuth])]),
    server: (user, names) =>
      issue(
        user,
        [],
        [
          new x509.ExtendedKeyUsageExtension([serverAuth]),
          new x509.SubjectAlternativeNameExtension([
            ...names.dns.map((value) => ({ type: 'dns' as const, value })),
            ...names.ip.map((value) => ({ type: 'ip' as const, value })),
          ]),
        ],
      ),
  };
}

type Extensions = InstanceType<X509['Extension']>[];

async function pemOf(x509: X509, certificate: string, pair: webcrypto.CryptoKeyPair): Promise<KeyPair> {
  return { certificate, key: await privateKeyPem(x509, pair.privateKey) };
}

/** Creates a key pair for signing tokens. Both keys are in PEM. */
export async function createTokenKeys(): Promise<{ readonly publicKey: string; readonly key: string }> {
  const x509 = await loadX509();
  const pair = await generateKeys();
  const spki = await crypto.subtle.exportKey('spki', pair.publicKey);
  return {
    publicKey: x509.PemConverter.encode(spki, 'PUBLIC KEY'),
    key: await privateKeyPem(x509, pair.privateKey),
  };
}
