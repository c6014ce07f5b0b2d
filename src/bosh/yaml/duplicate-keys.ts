import { isMap, isScalar, isSeq } from 'yaml';

/**
 * Where scalar keys stand a second time in one map of a document of the library `yaml`, parsed with `uniqueKeys: false`: offsets in
 * the text, in order. The library's own check compares each key with all before it: 20,000 keys take minutes.
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
