export interface Batches {
  /** May run beside each other. */
  readonly together: readonly (readonly string[])[];
  /** What may only run alone ([Serial]), in one. */
  readonly alone: readonly string[];
}

// a process takes three CPU seconds to start, as much as many tests; with more in each, the last workers would wait
const batchSize = 16;

/** Tests in groups for one process each; the slow ones come first and by themselves, so that nobody waits for them. */
export function batchesOf(names: readonly string[], size = batchSize): Batches {
  const alone = names.filter((name) => name.includes('[Serial]'));
  const others = names.filter((name) => !name.includes('[Serial]'));
  const slow = others.filter((name) => name.includes('[Slow]'));
  const quick = others.filter((name) => !name.includes('[Slow]'));
  const count = Math.ceil(quick.length / size);
  const groups = Array.from({ length: count }, (_, index) => quick.slice(index * size, (index + 1) * size));
  return { together: [...slow.map((name) => [name]), ...groups], alone };
}
