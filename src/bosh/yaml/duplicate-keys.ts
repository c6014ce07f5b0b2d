import { isMap, isScalar, isSeq } from 'yaml';

/**
 * Returns the offsets of duplicate scalar keys within a map, in order, for a document of the library `yaml`
 * that was parsed with `uniqueKeys: false`. The library's own check compares each key with all previous ones:
 * 20,000 keys take minutes.
 */
export function duplicateKeys(contents: unknown): readonly number[] {
  const found: number[] = [];
  const pending: unknown[] = [contents];
  while (pending.length > 0) {
    const node = pending.pop();
    if (isSeq(node)) for (const item of node.items) pending.push(item);
    if (!isMap(node)) continue;
    const keys = new Set<unknown>();
    for (const { key, value } of node.items) {
      pending.push(key, value);
      if (!isScalar(key)) continue;
      if (keys.has(key.value)) found.push(key.range?.[0] ?? 0);
      keys.add(key.value);
    }
  }
  return found.toSorted((one, other) => one - other);
}
