import { webcrypto } from 'node:crypto';
import type * as x509Library from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
type X509 = typeof x509Library;

export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface TestAuthority {
  readonly ca: string;
  server(names: { readonly ip?: string; readonly dns?: string }): Promise<KeyPair>;
  client(user: string): Promise<KeyPair>;
}

/** Creates a certificate authority for one test. */
export async function createTestAuthority(): Promise<TestAuthority> {
  const x509 = await loadX509();
  const keys = await generateKeys();
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=test-ca',
    keys,
    ...validity(),
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  const sign = async (subject: string, extensions: unknown[]): Promise<KeyPair> => {
    const own = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      subject,
      issuer: authority.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      ...validity(),
      signingAlgorithm: algorithm,
      extensions: extensions as InstanceType<X509['Extension']>[],
    });
    const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', own.privateKey);
    return {
      certificate: certificate.toString('pem'),
      key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY'),
    };
  };
  return {
    ca: authority.toString('pem'),
    server: (names) =>
      sign('CN=test-server', [
        new x509.SubjectAlternativeNameExtension([
          ...(names.ip === undefined ? [] : [{ type: 'ip' as const, value: names.ip }]),
          ...(names.dns === undefined ? [] : [{ type: 'dns' as const, value: names.dns }]),
        ]),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      ]),
    client: (user) =>
      sign(`CN=${user}`, [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])]),
  };
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function validity(): { notBefore: Date; notAfter: Date } {
  const hour = 3_600_000;
  return { notBefore: new Date(Date.now() - hour), notAfter: new Date(Date.now() + 24 * hour) };
}

/**
 * Loads x509. Its dependency tsyringe requires these functions of the reflect-metadata package, and works if
 * they return nothing.
 */
async function loadX509(): Promise<X509> {
  if (!('getMetadata' in Reflect)) {
    const nothing = (): undefined => undefined;
    Object.assign(Reflect, { getMetadata: nothing, getOwnMetadata: nothing, defineMetadata: nothing });
  }
  return import('@peculiar/x509');
}
