import { randomInt, randomUUID } from 'node:crypto';

/** The source of random values: uids and suffixes of generated names. */
export interface Random {
  uuid(): string;
  /** Returns an integer of [0, bound). */
  below(bound: number): number;
}

/** The secure random source of the system. */
export const systemRandom: Random = { uuid: () => randomUUID(), below: (bound) => randomInt(bound) };

const tailAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns five characters for the end of a generated name (apiserver pkg/storage/names/generate.go). */
export function randomSuffix(random: Random): string {
  return Array.from({ length: 5 }, () => tailAlphabet[random.below(tailAlphabet.length)]).join('');
}
