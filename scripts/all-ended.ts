/**
 * Works like Promise.all, but waits for the other parts when one fails: otherwise a compiler would outlive
 * the build.
 */
export async function allEnded<T extends readonly unknown[]>(parts: {
  readonly [K in keyof T]: Promise<T[K]>;
}): Promise<T> {
  await Promise.allSettled(parts);
  return Promise.all(parts);
}
