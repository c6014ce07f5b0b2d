import type * as library from '@peculiar/x509';
import { createPrivateKey, randomBytes, webcrypto, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import type { Extension, KeyUsageFlags, Name, X509Certificate } from '@peculiar/x509';
import { ProductError } from '../../errors/product-error.ts';
import type { YamlField } from '../yaml/yaml-field.ts';
import { describePosition, lookUp, type YamlNode } from '../yaml/yaml-node.ts';
import { readOptions, type VariableDefinition } from './variable.ts';
import {
  certificateBits,
  defaultCertificateBits,
  privateKeyPem,
  type RsaPair,
  type RsaPairs,
} from './rsa-pairs.ts';

const knownOptions = [
  'common_name',
  'organization',
  'alternative_names',
  'is_ca',
  'ca',
  'extended_key_usage',
  'duration',
  'key_length',
];
const serverAuth = '1.3.6.1.5.5.7.3.1';
const usages: ReadonlyMap<string, string> = new Map([
  ['client_auth', '1.3.6.1.5.5.7.3.2'],
  ['server_auth', serverAuth],
]);
const day = 24 * 60 * 60 * 1000;

/**
 * RSA, because the bosh CLI can only sign with a stored CA key that is RSA in PKCS #1 (bosh-cli:
 * cmd/opts/vars_cert_loader.go).
 */
const signatureAlgorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };

interface CertificateRequest {
  readonly commonName: string;
  readonly organization: string;
  readonly alternativeNames: readonly string[];
  readonly isCa: boolean;
  readonly ca: string | undefined;
  readonly usages: readonly string[];
  readonly days: number;
  readonly keyLength: number;
}

interface Authority {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
}

export interface CertificateSources {
  /** Returns the variable in the option `ca`. */
  readonly find: (name: string) => Promise<YamlNode | undefined>;
  readonly pairs: RsaPairs;
  readonly now: Date;
}

/**
 * Generates a certificate with key and CA as PEM, as config-server does (config-server:
 * types/certificate_generator.go). RSA-3072 and one year by default.
 */
export async function generateCertificate(
  definition: VariableDefinition,
  { find, pairs, now }: CertificateSources,
): Promise<Readonly<Record<string, string>>> {
  const request = readOptions(definition, knownOptions, readRequest);
  const x509 = await loadX509();
  const [pair, authority] = await Promise.all([
    pairs.take(request.keyLength),
    request.ca === undefined ? undefined : loadAuthority(x509, { name: request.ca, definition, find }),
  ]);
  const certificate = await sign(x509, { request, pair, authority, now });
  return {
    certificate: pem(certificate),
    private_key: privateKeyPem(pair.privateKey),
    ca: pem(authority?.certificate ?? certificate),
  };
}

function readRequest(options: YamlField): CertificateRequest {
  const isCa = options.get('is_ca').boolean() === true;
  const ca = options.get('ca').text();
  const keyLength = options.get('key_length').integer() ?? defaultCertificateBits;
  if (!certificateBits.includes(keyLength))
    options.get('key_length').problem(`must be one of ${certificateBits.join(', ')}`);
  if (!isCa && ca === undefined)
    options.get('ca').problem('must name the variable of the CA that signs the certificate');
  const requested = options
    .get('extended_key_usage')
    .items()
    .map((usage) => {
      const oid = usages.get(usage.requiredText());
      if (oid === undefined) usage.problem(`must be one of ${[...usages.keys()].join(', ')}`);
      return oid ?? '';
    });
  const days = options.get('duration').integer() ?? 0;
  return {
    commonName: options.get('common_name').text() ?? '',
    organization: options.get('organization').text() ?? 'Cloud Foundry',
    alternativeNames: options.get('alternative_names').texts(),
    isCa,
    ca,
    usages: requested.length === 0 ? [serverAuth] : requested,
    days: days > 0 ? days : 365,
    keyLength,
  };
}

interface SigningAuthority {
  readonly request: CertificateRequest;
  readonly pair: RsaPair;
  readonly authority: Authority | undefined;
  readonly now: Date;
}

async function sign(
  x509: X509,
  { request, pair, authority, now }: SigningAuthority,
): Promise<X509Certificate> {
  const publicKey = pair.publicKey.toCryptoKey(signatureAlgorithm, true, ['verify']);
  const signingKey = (authority?.key ?? pair.privateKey).toCryptoKey(signatureAlgorithm, false, ['sign']);
  const name = subject(x509, request);
  const generated = {
    serialNumber: positiveSerial(),
    subject: name,
    issuer: authority?.certificate.subjectName ?? name,
    notBefore: now,
    notAfter: new Date(now.getTime() + request.days * day),
    signingAlgorithm: signatureAlgorithm,
    publicKey,
    signingKey,
    extensions: await extensions(x509, { request, publicKey, authority }),
  };
  return x509.X509CertificateGenerator.create(generated, webcrypto);
}

function subject(x509: X509, { commonName, organization }: CertificateRequest): Name {
  const common = commonName === '' ? [] : [{ CN: [commonName] }];
  return new x509.Name([{ C: ['US'] }, { O: [organization] }, ...common]);
}

async function extensions(
  x509: X509,
  {
    request,
    publicKey,
    authority,
  }: Pick<SigningAuthority, 'request' | 'authority'> & { publicKey: webcrypto.CryptoKey },
): Promise<Extension[]> {
  const flags = x509.KeyUsageFlags;
  const own = await x509.SubjectKeyIdentifierExtension.create(publicKey, false, webcrypto);
  const issuerId =
    authority?.certificate.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId ?? own.keyId;
  const common = [own, new x509.AuthorityKeyIdentifierExtension(issuerId, false)];
  if (request.isCa) {
    const usage: KeyUsageFlags = flags.keyCertSign | flags.cRLSign;
    return [
      new x509.KeyUsagesExtension(usage, true),
      new x509.BasicConstraintsExtension(true, undefined, true),
      ...common,
    ];
  }
  const names = request.alternativeNames.map((value): { type: 'ip' | 'dns'; value: string } => ({
    type: isIP(value) === 0 ? 'dns' : 'ip',
    value,
  }));
  const usage: KeyUsageFlags = flags.keyEncipherment | flags.digitalSignature;
  return [
    new x509.KeyUsagesExtension(usage, true),
    new x509.ExtendedKeyUsageExtension([...request.usages], false),
    new x509.BasicConstraintsExtension(false, undefined, true),
    ...common,
    ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names, false)]),
  ];
}

interface AuthorityReference {
  readonly name: string;
  readonly definition: VariableDefinition;
  readonly find: (name: string) => Promise<YamlNode | undefined>;
}

async function loadAuthority(x509: X509, { name, definition, find }: AuthorityReference): Promise<Authority> {
  const where = definition.options === undefined ? '' : `${describePosition(definition.options.position)}: `;
  const optionError = (reason: string, cause?: unknown): ProductError =>
    new ProductError(
      'MANIFEST_INVALID',
      `${where}variables: '${definition.name}': the CA '${name}' ${reason}`,
      {
        cause,
      },
    );
  const value = await find(name);
  if (value === undefined) throw optionError('is neither given nor generated before it');
  const [certificate, key] = [lookUp(value, 'certificate'), lookUp(value, 'private_key')];
  if (certificate?.kind !== 'scalar' || key?.kind !== 'scalar')
    throw optionError("has no 'certificate' and 'private_key'");
  try {
    const authority = {
      certificate: new x509.X509Certificate(String(certificate.value)),
      key: createPrivateKey(String(key.value)),
    };
    if (authority.key.asymmetricKeyType === 'rsa') return authority;
  } catch (error) {
    throw optionError('cannot be read; its certificate and private key must be PEM', error);
  }
  throw optionError('has a key that is not RSA');
}

function positiveSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return bytes.toString('hex');
}

function pem(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}

export type X509 = typeof library;

/**
 * Loads the certificate library when a certificate is needed. Its dependency tsyringe requires these
 * functions of the reflect-metadata package, but works if they return nothing.
 */
export async function loadX509(): Promise<X509> {
  if (!('getMetadata' in Reflect)) {
    const nothing = (): undefined => undefined;
    Object.assign(Reflect, { getMetadata: nothing, getOwnMetadata: nothing, defineMetadata: nothing });
  }
  return import('@peculiar/x509');
}
