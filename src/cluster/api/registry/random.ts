import { randomInt, randomUUID } from 'node:crypto';

/** Chance as a dependency: uids and the tails of generated names. */
export interface Random {
  uuid(): string;
  /** An integer of [0, bound). */
  below(bound: number): number;
}

/** The machine's secure source. */
export const systemRandom: Random = { uuid: () => randomUUID(), below: (bound) => randomInt(bound) };
