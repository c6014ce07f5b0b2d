/** Runs what has the same key one after the other; what it gives and rejects with is the caller's. */
export type KeyedLock = <T>(key: string, action: () => Promise<T>) => Promise<T>;

export function keyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  return (key, action) => {
    const former = tails.get(key) ?? Promise.resolve();
    const mine = former.then(action, action);
    // the next one waits for the end of this one, whatever it is
    const tail = mine.then(
      () => undefined,
      () => undefined,
    );
    tails.set(key, tail);
    void tail.then(() => {
      if (tails.get(key) === tail) tails.delete(key);
    });
    return mine;
  };
}
