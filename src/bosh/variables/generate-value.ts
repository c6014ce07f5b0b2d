import { createHash } from 'node:crypto';
import { ProductError } from '../../errors/product-error.ts';
import { lookUp } from '../yaml/yaml-node.ts';
import { readOptions, type VariableDefinition } from './variable.ts';
import { certificateBits, defaultCertificateBits, privateKeyPem, RsaPairs } from './rsa-pairs.ts';
import type { GenerateValue } from './vars-store.ts';

export interface GeneratorOptions {
  readonly now: () => Date;
  /** Returns a cryptographically random whole number below the limit. */
  readonly randomBelow: (limit: number) => number;
  readonly pairs?: RsaPairs;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
const defaultPasswordLength = 20;
const keyBits = 2048;

/**
 * Creates a generator for the types of the bosh CLI: password, certificate, ssh, rsa (config-server: types/),
 * with values in the same format. The generator throws MANIFEST_INVALID for an unknown type or option.
 */
export function createValueGenerator(options: GeneratorOptions): GenerateValue {
  const { pairs = new RsaPairs() } = options;
  return async (definition, find) => {
    switch (definition.type) {
      case 'password':
        return generatePassword(definition, options);
      case 'certificate': {
        const { generateCertificate } = await import('./generate-certificate.ts');
        return generateCertificate(definition, { find, pairs, now: options.now() });
      }
      case 'ssh':
        return generateSshKey(pairs);
      case 'rsa':
        return generateRsaKey(pairs);
      default:
        throw new ProductError(
          'MANIFEST_INVALID',
          `variables: '${definition.name}' has the type '${definition.type}', which cannot be generated; the types are password, certificate, ssh and rsa`,
        );
    }
  };
}

/**
 * Returns the key lengths of the RSA pairs that these definitions will need, as far as their options show
 * them.
 */
export function expectedBits(definitions: readonly VariableDefinition[]): number[] {
  return definitions.flatMap(({ type, options }) => {
    if (type === 'ssh' || type === 'rsa') return keyBits;
    if (type !== 'certificate') return [];
    const length = options?.kind === 'map' ? lookUp(options, 'key_length') : undefined;
    if (length === undefined) return defaultCertificateBits;
    return length.kind === 'scalar' ? certificateBits.filter((bits) => bits === length.value) : [];
  });
}

function generatePassword(definition: VariableDefinition, { randomBelow }: GeneratorOptions): string {
  const length = readOptions(definition, ['length'], (options) => {
    const passwordLength = options.get('length').integer() ?? defaultPasswordLength;
    if (passwordLength < 0) options.get('length').problem('must not be negative');
    return passwordLength === 0 ? defaultPasswordLength : passwordLength;
  });
  return Array.from({ length }, () => alphabet[randomBelow(alphabet.length)]).join('');
}

async function generateRsaKey(pairs: RsaPairs): Promise<Readonly<Record<string, string>>> {
  const { privateKey, publicKey } = await pairs.take(keyBits);
  return {
    private_key: privateKeyPem(privateKey),
    public_key: String(publicKey.export({ type: 'spki', format: 'pem' })),
  };
}

async function generateSshKey(pairs: RsaPairs): Promise<Readonly<Record<string, string>>> {
  const { privateKey, publicKey } = await pairs.take(keyBits);
  const { e = '', n = '' } = publicKey.export({ format: 'jwk' });
  const parts = [
    Buffer.from('ssh-rsa'),
    positive(Buffer.from(e, 'base64url')),
    positive(Buffer.from(n, 'base64url')),
  ];
  const blob = Buffer.concat(parts.flatMap((part) => [lengthOf(part), part]));
  const digest = createHash('md5').update(blob).digest('hex');
  return {
    private_key: privateKeyPem(privateKey),
    public_key: `ssh-rsa ${blob.toString('base64')}\n`,
    public_key_fingerprint: digest.match(/../g)?.join(':') ?? '',
  };
}

/** Encodes an mpint of SSH: a leading one bit would make it negative (RFC 4251, section 5). */
function positive(number: Buffer): Buffer {
  return (number[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), number]) : number;
}

function lengthOf(part: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return length;
}
