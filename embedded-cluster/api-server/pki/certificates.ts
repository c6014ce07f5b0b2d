import type * as x509Library from '@peculiar/x509';
import { randomBytes, webcrypto } from 'node:crypto';
import { apiServerAddress } from '../publish-api-server.ts';

/** Credentials of the cluster's server and its administrator. Keys and certificates are PEM. */
export interface Credentials {
  readonly authority: string;
  readonly serverCertificate: string;
  readonly serverKey: string;
  readonly adminCertificate: string;
  readonly adminKey: string;
  /** A bearer token for clients that cannot present a certificate. */
  readonly token: string;
}

const day = 86_400_000;
const lifetimeDays = 365;

/**
 * Issues an authority with one server certificate (localhost, 127.0.0.1, ::1, the Service `kubernetes`) and
 * one client certificate for the administrator (CN kubernetes-admin, O system:masters), valid for a year. The
 * authority's key is not kept: no other certificate can be signed with it.
 */
export async function issueCertificates(now: number): Promise<Credentials> {
  const x509 = await loadX509();
  const keys = await generateKeys();
  const validity = { notBefore: new Date(now - day), notAfter: new Date(now + lifetimeDays * day) };
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=bosh-kubernetes-embedded-cluster',
    keys,
    ...validity,
    signingAlgorithm: keyAlgorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  const issuer = { x509, authority, signingKey: keys.privateKey, validity };
  const server = await issue(issuer, 'CN=bosh-kubernetes-api-server', [
    new x509.SubjectAlternativeNameExtension([
      { type: 'dns', value: 'localhost' },
      { type: 'ip', value: '127.0.0.1' },
      { type: 'ip', value: '::1' },
      { type: 'ip', value: apiServerAddress },
    ]),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
  ]);
  const admin = await issue(issuer, 'O=system:masters, CN=kubernetes-admin', [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
  ]);
  return {
    authority: authority.toString('pem'),
    serverCertificate: server.certificate,
    serverKey: server.key,
    adminCertificate: admin.certificate,
    adminKey: admin.key,
    token: randomBytes(32).toString('base64url'),
  };
}

interface Issuer {
  readonly x509: X509;
  readonly authority: InstanceType<X509['X509Certificate']>;
  readonly signingKey: webcrypto.CryptoKey;
  readonly validity: { readonly notBefore: Date; readonly notAfter: Date };
}

async function issue(
  { x509, authority, signingKey, validity }: Issuer,
  subject: string,
  extensions: InstanceType<X509['Extension']>[],
): Promise<{ certificate: string; key: string }> {
  const own = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: authority.subject,
    publicKey: own.publicKey,
    signingKey,
    ...validity,
    signingAlgorithm: keyAlgorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      ...extensions,
    ],
  });
  return { certificate: certificate.toString('pem'), key: await privateKeyPem(x509, own.privateKey) };
}

export type X509 = typeof x509Library;

/** The algorithm of all keys of the cluster. */
export const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/**
 * Loads the certificate library on first use: most starts of a cluster find existing certificates. The
 * library contains tsyringe, which requires functions of the package reflect-metadata but works if they store
 * nothing.
 */
export async function loadX509(): Promise<X509> {
  if (!('getMetadata' in Reflect)) {
    const nothing = (): undefined => undefined;
    Object.assign(Reflect, { getMetadata: nothing, getOwnMetadata: nothing, defineMetadata: nothing });
  }
  return import('@peculiar/x509');
}

export function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
}

/** Returns the private key as PKCS #8 in PEM. */
export async function privateKeyPem(x509: X509, key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}
