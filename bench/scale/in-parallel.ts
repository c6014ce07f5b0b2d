/** Durations in milliseconds. */
export interface Spread {
  readonly wall: number;
  readonly median: number;
  readonly p95: number;
  readonly max: number;
}

/** Processes all items, `workers` at a time, and returns the durations. The first failure ends it. */
export async function inParallel<T>(
  items: readonly T[],
  workers: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<Spread> {
  const queue = [...items.entries()].values();
  const taken: number[] = [];
  const start = performance.now();
  const loop = async (): Promise<void> => {
    for (const [index, item] of queue) {
      const began = performance.now();
      await work(item, index);
      taken.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: workers }, loop));
  const sorted = taken.toSorted((one, other) => one - other);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { wall: performance.now() - start, median: at(0.5), p95: at(0.95), max: at(1) };
}
