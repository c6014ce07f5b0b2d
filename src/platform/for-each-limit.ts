/**
 * Runs `work` for each item, with at most `max` at once. When all have ended, rejects with the first error,
 * if any.
 */
export async function forEachLimit<T>(
  max: number,
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = [...items].toReversed();
  const errors: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) {
      try {
        await work(item);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: max }, worker));
  if (errors.length > 0) throw errors[0];
}
