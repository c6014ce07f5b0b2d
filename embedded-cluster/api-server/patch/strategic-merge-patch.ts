import { badRequest } from '../errors/status-errors.ts';
import { copyJson, isRecord, type JsonRecord } from '../schema/json.ts';
import type { ListSchema, Schema } from '../schema/schema.ts';
import {
  memberOf,
  setMember,
  withoutDirectives,
  assertOrdered,
  deleteScalars,
  keyOfList,
  mergeItems,
  mergeScalars,
  sortItems,
} from './strategic-lists.ts';

const orderPrefix = '$setElementOrder/';
const deletionPrefix = '$deleteFromPrimitiveList/';

/**
 * Applies a strategic merge patch as kubectl apply and edit send it (apimachinery
 * pkg/util/strategicpatch/patch.go): lists of objects merge by the merge key of the schema, with the
 * directives `$patch: delete|replace`, `$setElementOrder/...`, `$deleteFromPrimitiveList/...` and
 * `$retainKeys`. Changes neither argument. Throws ApiError 400 for a directive or an item that is not valid.
 */
export function applyStrategicMergePatch(schema: Schema, target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return copyJson(patch);
  if (Object.hasOwn(patch, '$patch')) return replaced(patch);
  const merged = retained(isRecord(target) ? target : {}, patch);
  const fields = new Set(Object.keys(patch).map(fieldOf));
  fields.delete('$retainKeys');
  for (const field of fields) mergeField({ schema, merged, patch, field });
  return merged;
}

function replaced(patch: JsonRecord): unknown {
  switch (patch['$patch']) {
    case 'replace':
      return withoutDirectives(patch);
    case 'delete':
      return {};
    default:
      throw badRequest(`unknown patch type: ${JSON.stringify(patch['$patch'])}`);
  }
}

/** Returns the field that a key of a patch refers to. */
function fieldOf(key: string): string {
  if (key.startsWith(orderPrefix)) return key.slice(orderPrefix.length);
  if (key.startsWith(deletionPrefix)) return key.slice(deletionPrefix.length);
  if (key.startsWith('$') && key !== '$retainKeys') throw badRequest(`unknown patch directive ${key}`);
  return key;
}

interface Field {
  readonly schema: Schema;
  readonly merged: JsonRecord;
  readonly patch: JsonRecord;
  readonly field: string;
}

/** Merges one field with its value and all its directives in the patch. */
function mergeField({ schema, merged, patch, field }: Field): void {
  const member = memberOf(schema, field);
  const before = Object.hasOwn(merged, field) ? merged[field] : undefined;
  const deletions = directive(patch, `${deletionPrefix}${field}`);
  if (deletions !== undefined) {
    if (member.type !== 'list' || member.merge !== 'set') {
      throw badRequest(`${deletionPrefix}${field}: ${field} is not a list that is merged by value`);
    }
    if (Array.isArray(before)) merged[field] = deleteScalars(before, deletions);
  }
  if (Object.hasOwn(patch, field)) mergeValue({ schema, merged, patch, field }, member);
  const order = directive(patch, `${orderPrefix}${field}`);
  if (order !== undefined) orderField({ schema, merged, patch, field }, { member, before, order });
}

/** Returns the list of a directive; undefined if the patch does not have it. */
function directive(patch: JsonRecord, key: string): readonly unknown[] | undefined {
  if (!Object.hasOwn(patch, key)) return undefined;
  const value = patch[key];
  if (!Array.isArray(value)) throw badRequest(`${key} must be a list`);
  return value;
}

function mergeValue({ merged, patch, field }: Field, member: Schema): void {
  const value = patch[field];
  const current = Object.hasOwn(merged, field) ? merged[field] : undefined;
  if (value === null) delete merged[field];
  else if (Array.isArray(value) && member.type === 'list' && member.merge !== undefined) {
    setMember(merged, field, mergeList(member, Array.isArray(current) ? current : [], value));
  } else if (isRecord(value)) {
    const removes = current === undefined && value['$patch'] === 'delete';
    if (!removes) setMember(merged, field, applyStrategicMergePatch(member, current, value));
  } else setMember(merged, field, copyJson(value));
}

function mergeList(schema: ListSchema, current: readonly unknown[], patch: readonly unknown[]): unknown[] {
  if (typeof schema.merge !== 'object') return mergeScalars(current, patch);
  const merge = (target: unknown, item: unknown): unknown =>
    applyStrategicMergePatch(schema.items, target, item);
  return mergeItems(schema.merge.key, current, patch, merge);
}

interface Ordering {
  readonly member: Schema;
  /** The field as it was before the patch. */
  readonly before: unknown;
  readonly order: readonly unknown[];
}

function orderField({ merged, patch, field }: Field, { member, before, order }: Ordering): void {
  if (member.type !== 'list' || member.merge === undefined) {
    throw badRequest(`${orderPrefix}${field}: ${field} is no list that merges`);
  }
  const items = merged[field];
  if (!Array.isArray(items)) return;
  const key = keyOfList(member);
  const value = patch[field];
  if (Array.isArray(value)) assertOrdered(field, key, value, order);
  merged[field] = sortItems(key, items, order, Array.isArray(before) ? before : []);
}

/**
 * Returns a copy of the target with the members that `$retainKeys` lists, or with all members if the patch
 * has no such directive.
 */
function retained(target: JsonRecord, patch: JsonRecord): JsonRecord {
  const keys = directive(patch, '$retainKeys');
  if (keys === undefined) return { ...target };
  const listed = new Set(keys);
  const stray = Object.entries(patch).find(
    ([key, value]) => value !== null && !key.startsWith('$') && !listed.has(key),
  );
  if (stray !== undefined) throw badRequest(`$retainKeys does not list ${stray[0]}, which the patch sets`);
  return Object.fromEntries(Object.entries(target).filter(([key]) => listed.has(key)));
}
