import { badRequest } from '../errors/status-errors.ts';
import { isRecord, jsonEqual } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { ListSchema, Schema } from '../schema/schema.ts';

/**
 * Strategic merge as kubectl apply and edit send it (apimachinery pkg/util/strategicpatch): lists of objects merge
 * by the merge key of the schema, with the directives `$patch: delete|replace|merge`, `$setElementOrder/...`,
 * `$deleteFromPrimitiveList/...` and `$retainKeys`. Changes neither argument.
 * Throws ApiError 400 for a directive or an item that makes no sense.
 */
export function applyStrategicMergePatch(schema: Schema, target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return structuredClone(patch);
  if (patch['$patch'] === 'replace') return structuredClone(withoutDirectives(patch));
  if (patch['$patch'] === 'delete') return {};
  const merged = retained(isRecord(target) ? target : {}, patch['$retainKeys']);
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) applyListDirective(schema, merged, key, value);
    else mergeMember(schema, merged, key, value);
  }
  for (const [key, order] of Object.entries(patch)) {
    if (key.startsWith('$setElementOrder/')) sortMember(schema, merged, key.slice(17), order);
  }
  return merged;
}

function memberSchema(schema: Schema, key: string): Schema {
  if (schema.type === 'map') return schema.values;
  return (schema.type === 'object' ? schema.fields[key] : undefined) ?? { type: 'anything' };
}

function mergeMember(schema: Schema, merged: JsonRecord, key: string, value: unknown): void {
  const member = memberSchema(schema, key);
  if (value === null) delete merged[key];
  else if (Array.isArray(value) && member.type === 'list')
    merged[key] = mergeList(member, merged[key], value);
  else merged[key] = applyStrategicMergePatch(member, merged[key], value);
}

function mergeList(schema: ListSchema, target: unknown, patch: readonly unknown[]): unknown {
  const current: unknown[] = Array.isArray(target) ? [...target] : [];
  const { merge } = schema;
  if (merge === undefined) return structuredClone(patch);
  if (merge === 'set')
    return [...current, ...patch.filter((item) => !current.some((old) => jsonEqual(old, item)))];
  if (patch.some((item) => isRecord(item) && item['$patch'] === 'replace')) {
    return structuredClone(patch.filter((item) => !(isRecord(item) && item['$patch'] === 'replace')));
  }
  return patch.reduce<unknown[]>((items, item) => mergeItem(schema, merge.key, items, item), current);
}

function mergeItem(schema: ListSchema, key: string, items: unknown[], patch: unknown): unknown[] {
  if (!isRecord(patch) || patch[key] === undefined) {
    // the item itself may hold a secret
    throw badRequest(`an item of a list in the patch does not contain declared merge key: ${key}`);
  }
  const index = items.findIndex((item) => isRecord(item) && jsonEqual(item[key], patch[key]));
  if (patch['$patch'] === 'delete') return items.filter((_, at) => at !== index);
  const merged = applyStrategicMergePatch(schema.items, index === -1 ? {} : items[index], patch);
  return index === -1 ? [...items, merged] : items.with(index, merged);
}

function applyListDirective(schema: Schema, merged: JsonRecord, key: string, value: unknown): void {
  if (key === '$patch' || key === '$retainKeys' || key.startsWith('$setElementOrder/')) return;
  const field = /^\$deleteFromPrimitiveList\/(.+)$/.exec(key)?.[1];
  if (field === undefined || !Array.isArray(value)) throw badRequest(`unknown patch directive ${key}`);
  const current = merged[field];
  if (memberSchema(schema, field).type !== 'list' || !Array.isArray(current)) return;
  merged[field] = current.filter((item) => !value.some((gone) => jsonEqual(gone, item)));
}

/** Items in the given order first; those that the patch's author did not know keep their place behind. */
function sortMember(schema: Schema, merged: JsonRecord, field: string, order: unknown): void {
  const member = memberSchema(schema, field);
  const items = merged[field];
  if (member.type !== 'list' || !Array.isArray(items) || !Array.isArray(order)) return;
  const identity = (item: unknown): unknown =>
    typeof member.merge === 'object' && isRecord(item) ? item[member.merge.key] : item;
  const rank = (item: unknown): number => {
    const index = order.findIndex((wanted) => jsonEqual(identity(wanted), identity(item)));
    return index === -1 ? order.length : index;
  };
  merged[field] = items.toSorted((left, right) => rank(left) - rank(right));
}

function retained(target: JsonRecord, keys: unknown): JsonRecord {
  if (!Array.isArray(keys)) return { ...target };
  return Object.fromEntries(Object.entries(target).filter(([key]) => keys.includes(key)));
}

function withoutDirectives(patch: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith('$')));
}
