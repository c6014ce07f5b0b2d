import { randomInt, randomUUID } from 'node:crypto';

/** Chance as a dependency: uids and the tails of generated names. */
export interface Random {
  uuid(): string;
  /** An integer of [0, bound). */
  below(bound: number): number;
}

/** The machine's secure source. */
export const systemRandom: Random = { uuid: () => randomUUID(), below: (bound) => randomInt(bound) };

const tailAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Five characters, as generated names end with (apiserver pkg/storage/names/generate.go). */
export function randomSuffix(random: Random): string {
  return Array.from({ length: 5 }, () => tailAlphabet[random.below(tailAlphabet.length)]).join('');
}
