/** As Promise.all, but nothing goes on when one fails: a compiler would outlive the build. */
export async function allEnded<T extends readonly unknown[]>(parts: {
  readonly [K in keyof T]: Promise<T[K]>;
}): Promise<T> {
  await Promise.allSettled(parts);
  return Promise.all(parts);
}
