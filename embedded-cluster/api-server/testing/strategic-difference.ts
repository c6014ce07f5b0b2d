import { isRecord, jsonEqual, type JsonRecord } from '../schema/json.ts';
import type { ListSchema, Schema } from '../schema/schema.ts';
import { memberOf } from '../patch/strategic-lists.ts';

/**
 * Returns the strategic merge patch that turns `from` into `to`, as kubectl makes it (strategicpatch
 * CreateTwoWayMergePatch).
 */
export function strategicDifference(schema: Schema, from: JsonRecord, to: JsonRecord): JsonRecord {
  const patch: JsonRecord = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const member = memberOf(schema, key);
    const [before, after] = [from[key], to[key]];
    if (after === undefined) patch[key] = null;
    else if (before === undefined) patch[key] = after;
    else if (jsonEqual(before, after)) continue;
    else if (Array.isArray(before) && Array.isArray(after) && member.type === 'list')
      Object.assign(patch, listDifference(key, member, before, after));
    else
      patch[key] = isRecord(before) && isRecord(after) ? strategicDifference(member, before, after) : after;
  }
  return patch;
}

function listDifference(field: string, schema: ListSchema, before: unknown[], after: unknown[]): JsonRecord {
  if (schema.merge === undefined) return { [field]: after };
  if (schema.merge === 'set') {
    const added = after.filter((item) => !before.includes(item));
    const removed = before.filter((item) => !after.includes(item));
    return {
      [`$setElementOrder/${field}`]: after,
      ...(added.length > 0 ? { [field]: added } : {}),
      ...(removed.length > 0 ? { [`$deleteFromPrimitiveList/${field}`]: removed } : {}),
    };
  }
  const { key } = schema.merge;
  const find = (list: unknown[], item: JsonRecord): JsonRecord | undefined =>
    (list as JsonRecord[]).find((one) => jsonEqual(one[key], item[key]));
  const changed = (after as JsonRecord[]).flatMap((item) => {
    const old = find(before, item);
    if (old === undefined) return [item];
    return jsonEqual(old, item)
      ? []
      : [{ ...strategicDifference(schema.items, old, item), [key]: item[key] }];
  });
  const removedItems = (before as JsonRecord[])
    .filter((item) => find(after, item) === undefined)
    .map((item) => ({ $patch: 'delete', [key]: item[key] }));
  return {
    [`$setElementOrder/${field}`]: (after as JsonRecord[]).map((item) => ({ [key]: item[key] })),
    [field]: [...changed, ...removedItems],
  };
}
