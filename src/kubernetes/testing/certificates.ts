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
  /** `name` is the common name, by default `test-server`. */
  server(names: ServerNames, name?: string): Promise<KeyPair>;
  /** Organizations are the groups of a user. */
  client(user: string, groups?: readonly string[], country?: string): Promise<KeyPair>;
}

interface ServerNames {
  readonly ip?: string | readonly string[];
  readonly dns?: string | readonly string[];
}

/**
 * Creates a certificate authority, by default for one test. Its key exists only in this object. Certificates
 * are valid for `days`.
 */
export async function createTestAuthority({ name = 'test-ca', days = 1 } = {}): Promise<TestAuthority> {
  const validity = {
    notBefore: new Date(Date.now() - hour),
    notAfter: new Date(Date.now() + days * 24 * hour),
  };
  const x509 = await loadX509();
  const keys = await generateKeys();
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    ...validity,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  const sign = async (
    commonName: string,
    groups: readonly string[],
    extensions: unknown[],
    country?: string,
  ): Promise<KeyPair> => {
    const own = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      subject: [
        ...(country === undefined ? [] : [{ C: [country] }]),
        ...groups.map((group) => ({ O: [group] })),
        { CN: [commonName] },
      ],
      issuer: authority.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      ...validity,
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
    server: (names, commonName = 'test-server') =>
      sign(
        commonName,
        [],
        [
          new x509.SubjectAlternativeNameExtension([
            ...listOf(names.ip).map((value) => ({ type: 'ip' as const, value })),
            ...listOf(names.dns).map((value) => ({ type: 'dns' as const, value })),
          ]),
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        ],
      ),
    client: (user, groups = [], country?: string) =>
      sign(user, groups, [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])], country),
  };
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

const hour = 3_600_000;

const listOf = (names: string | readonly string[] = []): readonly string[] =>
  typeof names === 'string' ? [names] : names;

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
