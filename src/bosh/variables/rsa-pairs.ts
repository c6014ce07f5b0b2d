import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

export interface RsaPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** Key lengths of certificates (config-server: types/certificate_generator.go). */
export const certificateBits: readonly number[] = [2048, 3072, 4096];
export const defaultCertificateBits = 3072;

/**
 * One per processor of a small machine. Generation shares its threads with file access, so each can delay the
 * other.
 */
const concurrency = 2;

const makePair = (bits: number): Promise<RsaPair> =>
  promisify(generateKeyPair)('rsa', { modulusLength: bits });

/**
 * Generates RSA key pairs; each is given to one caller. A pair of 3072 bits takes from a tenth of a second to
 * several seconds. So pairs that are announced with `prepare` are generated in the background, two at a time.
 */
export class RsaPairs {
  readonly #make: (bits: number) => Promise<RsaPair>;
  readonly #expected: number[] = [];
  readonly #begun: { readonly bits: number; readonly pair: Promise<RsaPair> }[] = [];

  constructor(make = makePair) {
    this.#make = make;
  }

  /** Announces the key lengths that will be taken, in this order. */
  prepare(bits: readonly number[]): void {
    this.#expected.push(...bits);
    this.#begin();
  }

  async take(bits: number): Promise<RsaPair> {
    const [found] = removeFirst(this.#begun, (each) => each.bits === bits);
    if (found === undefined) removeFirst(this.#expected, (each) => each === bits);
    const pair = await (found?.pair ?? this.#make(bits));
    this.#begin();
    return pair;
  }

  #begin(): void {
    while (this.#begun.length < concurrency) {
      const bits = this.#expected.shift();
      if (bits === undefined) return;
      const pair = this.#make(bits);
      // `take` throws the error.
      pair.catch(() => undefined);
      this.#begun.push({ bits, pair });
    }
  }
}

/** Returns the key in the format that bosh reads: PKCS #1. */
export function privateKeyPem(key: KeyObject): string {
  return String(key.export({ type: 'pkcs1', format: 'pem' }));
}

function removeFirst<T>(items: T[], isMeant: (item: T) => boolean): T[] {
  const at = items.findIndex(isMeant);
  return at < 0 ? [] : items.splice(at, 1);
}
