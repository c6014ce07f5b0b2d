/** Reproducible random numbers: the same seed returns the same sequence (mulberry32). */
export interface Chance {
  /** Returns an integer of [0, bound). */
  below(bound: number): number;
  pick<T>(items: readonly T[]): T;
  /** Returns true once in `n` calls on average. */
  once(n: number): boolean;
}

export function seeded(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    below,
    once: (n) => below(n) === 0,
    pick: <T>(items: readonly T[]): T => {
      const item = items[below(items.length)];
      if (item === undefined && items.length === 0) throw new Error('nothing to pick from');
      return item as T;
    },
  };
}
