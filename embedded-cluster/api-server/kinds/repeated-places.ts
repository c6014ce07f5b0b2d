/** Returns the indexes of the values that are already in the list at a lower index. */
export function duplicateIndexes(values: readonly unknown[]): ReadonlySet<number> {
  const seen = new Set<unknown>();
  const repeated = new Set<number>();
  values.forEach((value, place) => {
    if (seen.has(value)) repeated.add(place);
    seen.add(value);
  });
  return repeated;
}
