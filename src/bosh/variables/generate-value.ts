import { createHash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { ProductError } from '../../errors/product-error.ts';
import { Field, Problems } from '../yaml/field.ts';
import type { YamlNode } from '../yaml/yaml-node.ts';
import { lookUp } from '../yaml/yaml-node.ts';
import { RsaPairs } from './rsa-pairs.ts';
import type { GenerateValue } from './vars-store.ts';
import type { VariableDefinition } from './variable.ts';

export interface GeneratorOptions {
  readonly now: () => Date;
  /** A cryptographically random whole number below the limit. */
  readonly randomBelow: (limit: number) => number;
  readonly pairs?: RsaPairs;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
const defaultPasswordLength = 20;
const keyBits = 2048;
export const certificateBits: readonly number[] = [2048, 3072, 4096];
export const defaultCertificateBits = 3072;

/**
 * Makes values of the types that the bosh CLI makes: password, certificate, ssh, rsa (config-server: types/), in the same
 * form. MANIFEST_INVALID for an unknown type or option.
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
          `variables: '${definition.name}' has the type '${definition.type}', which cannot be generated; known are password, certificate, ssh and rsa`,
        );
    }
  };
}

/** The options of a definition as a field; options beyond the known ones are a fault. Throws what `read` notes. */
export function readOptions<T>(
  definition: VariableDefinition,
  known: readonly string[],
  read: (options: Field) => T,
): T {
  const problems = new Problems();
  const node: YamlNode | undefined = definition.options;
  const parent = node?.place ?? { file: `variable '${definition.name}'`, line: 1, column: 1 };
  const field = new Field(node, { path: `variables: '${definition.name}' options`, parent, problems });
  for (const [key, option] of field.entries()) {
    if (!known.includes(key))
      option.problem(`is not an option of type '${definition.type}'; known are ${known.join(', ')}`);
  }
  const value = read(field);
  problems.throwIfAny('MANIFEST_INVALID');
  return value;
}

/** The bits of the RSA pairs that values of these definitions will take, as far as their options say. */
export function expectedBits(definitions: readonly VariableDefinition[]): number[] {
  return definitions.flatMap(({ type, options }) => {
    if (type === 'ssh' || type === 'rsa') return keyBits;
    if (type !== 'certificate') return [];
    const length = options?.kind === 'map' ? lookUp(options, 'key_length') : undefined;
    if (length === undefined) return defaultCertificateBits;
    return length.kind === 'scalar' ? certificateBits.filter((bits) => bits === length.value) : [];
  });
}

/** In the form that bosh reads back, PKCS #1. */
export function privateKeyPem(key: KeyObject): string {
  return String(key.export({ type: 'pkcs1', format: 'pem' }));
}

function generatePassword(definition: VariableDefinition, { randomBelow }: GeneratorOptions): string {
  const length = readOptions(definition, ['length'], (options) => {
    const wanted = options.get('length').integer() ?? defaultPasswordLength;
    if (wanted < 0) options.get('length').problem('must not be negative');
    return wanted === 0 ? defaultPasswordLength : wanted;
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

/** SSH's mpint: a leading one bit would make it negative (RFC 4251, section 5). */
function positive(number: Buffer): Buffer {
  return (number[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), number]) : number;
}

function lengthOf(part: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return length;
}
