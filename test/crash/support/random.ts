import fc from 'fast-check';

/** Random numbers that depend only on a seed, so that a failure can be repeated. */
export interface Random {
  /** Returns an integer of [0, end). */
  below(end: number): number;
  oneOf<T>(items: readonly T[]): T;
  /** Returns true once in `n` calls on average. */
  once(n: number): boolean;
}

export function seededRandom(seed: number): Random {
  const integers = fc.infiniteStream(fc.integer({ min: 0, max: 2 ** 31 - 1 }), { noHistory: true });
  const [stream] = fc.sample(integers, { seed: seed | 0, numRuns: 1, unbiased: true });
  if (stream === undefined) throw new Error('fast-check has returned no stream');
  const below = (end: number): number => Number(stream.next().value) % end;
  return {
    below,
    once: (n) => below(n) === 0,
    oneOf: <T>(items: readonly T[]): T => {
      if (items.length === 0) throw new Error('there is nothing to choose from');
      return items[below(items.length)] as T;
    },
  };
}
