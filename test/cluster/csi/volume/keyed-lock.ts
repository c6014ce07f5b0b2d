/**
 * Runs actions with the same key one after the other. Returns the result or the error of the action to its
 * caller.
 */
export type KeyedLock = <T>(key: string, action: () => Promise<T>) => Promise<T>;

export function keyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  return (key, action) => {
    const former = tails.get(key) ?? Promise.resolve();
    const mine = former.then(action, action);
    // The next action waits for the end of this one, whether it succeeds or fails.
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
