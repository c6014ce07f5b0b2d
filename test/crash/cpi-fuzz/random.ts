/** Random numbers that depend only on a seed, so that a failure can be reproduced. */
export interface Random {
  readonly seed: number;
  /** Returns an integer from 0 to `end`, exclusive. */
  readonly below: (end: number) => number;
  readonly oneOf: <T>(items: readonly T[]) => T;
}

/** mulberry32: small, and good enough for choosing inputs. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const below = (end: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end;
  };
  const oneOf = <T>(items: readonly T[]): T => {
    const item = items[below(items.length)];
    if (item === undefined && !items.includes(item as T)) throw new Error('nothing to choose from');
    return item as T;
  };
  return { seed, below, oneOf };
}
