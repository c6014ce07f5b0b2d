/** The places of a list whose value an earlier place has, too. */
export function duplicateIndexes(values: readonly unknown[]): ReadonlySet<number> {
  const seen = new Set<unknown>();
  const repeated = new Set<number>();
  values.forEach((value, place) => {
    if (seen.has(value)) repeated.add(place);
    seen.add(value);
  });
  return repeated;
}
