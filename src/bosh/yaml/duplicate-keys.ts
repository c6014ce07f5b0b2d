import { isMap, isScalar, isSeq } from 'yaml';

/** Where a key stands a second time in its map: an offset in the text. */
export interface DuplicateKey {
  readonly offset: number;
  readonly key: string;
}

/**
 * Scalar keys that stand twice in one map of a document of the library `yaml`, parsed with `uniqueKeys: false`, in the order of the
 * text. The library's own check compares each key with all before it: 20,000 keys take minutes.
 */
export function duplicateKeys(contents: unknown): readonly DuplicateKey[] {
  const found: DuplicateKey[] = [];
  const pending: unknown[] = [contents];
  while (pending.length > 0) {
    const node = pending.pop();
    if (isSeq(node)) for (const item of node.items) pending.push(item);
    if (!isMap(node)) continue;
    const keys = new Set<unknown>();
    for (const { key, value } of node.items) {
      pending.push(key, value);
      if (!isScalar(key)) continue;
      if (keys.has(key.value)) found.push({ offset: key.range?.[0] ?? 0, key: String(key.value) });
      keys.add(key.value);
    }
  }
  return found.toSorted((one, other) => one.offset - other.offset);
}
