import { badRequest } from '../errors/status-errors.ts';
import { isRecord, type JsonRecord } from '../schema/json.ts';
import type { ListSchema, Schema } from '../schema/schema.ts';

/** Returns the merge key of a list of objects; undefined for a list of scalars. */
export const keyOfList = ({ merge }: ListSchema): string | undefined =>
  typeof merge === 'object' ? merge.key : undefined;

/** Returns a text that is equal for items that the merge treats as the same item. */
const identity = (key: string | undefined, item: unknown): string =>
  JSON.stringify(key !== undefined && isRecord(item) ? item[key] : item) ?? '';

/**
 * Returns a function from an item to its index in the list; of equal items it returns the first, and -1 for
 * an item that is not in the list.
 */
function indexByKey(list: readonly unknown[], key: string | undefined): (item: unknown) => number {
  const known = new Map<string, number>();
  list.forEach((item, index) => {
    const id = identity(key, item);
    if (!known.has(id)) known.set(id, index);
  });
  return (item) => known.get(identity(key, item)) ?? -1;
}

const directiveOf = (item: unknown): unknown =>
  isRecord(item) && Object.hasOwn(item, '$patch') ? item['$patch'] : undefined;

/** Merges two lists and removes duplicates. Values of the patch keep its order. */
export function mergeScalars(current: readonly unknown[], patch: readonly unknown[]): unknown[] {
  if (patch.some((item) => isRecord(item) || Array.isArray(item))) {
    throw badRequest('a list of values in the patch must not hold objects or lists');
  }
  const both = [...current, ...patch];
  const first = indexByKey(both, undefined);
  const once = both.filter((item, index) => first(item) === index);
  return sortItems(undefined, once, patch, current);
}

export function deleteScalars(current: readonly unknown[], removed: readonly unknown[]): unknown[] {
  const deleted = indexByKey(removed, undefined);
  return current.filter((item) => deleted(item) === -1);
}

/**
 * Merges two lists of objects by `key`; `merge` merges two items. Items of the patch keep its order
 * (strategicpatch mergeSlice). Throws ApiError 400 for an item without the key.
 */
export function mergeItems(
  key: string,
  current: readonly unknown[],
  patch: readonly unknown[],
  merge: (target: unknown, item: unknown) => unknown,
): unknown[] {
  for (const item of patch) assertItem(key, item);
  const plain = patch.filter((item) => directiveOf(item) === undefined);
  if (patch.some((item) => directiveOf(item) === 'replace')) return plain.map(withoutDirectives);
  const deleted = indexByKey(
    patch.filter((item) => directiveOf(item) === 'delete'),
    key,
  );
  const merged = current.filter((item) => deleted(item) === -1);
  const known = new Map(
    merged.map((item, index) => [identity(key, item), index]).toReversed() as [string, number][],
  );
  for (const item of plain) {
    const index = known.get(identity(key, item));
    if (index !== undefined) merged[index] = merge(merged[index], item);
    else known.set(identity(key, item), merged.push(withoutDirectives(item)) - 1);
  }
  return sortItems(key, merged, plain, current);
}

function assertItem(key: string, item: unknown): void {
  const directive = directiveOf(item);
  if (directive === 'replace') return;
  if (directive !== undefined && directive !== 'delete') {
    throw badRequest(`unknown patch type: ${JSON.stringify(directive)}`);
  }
  if (!isRecord(item) || !Object.hasOwn(item, key) || item[key] === null) {
    // The item itself may contain a secret.
    throw badRequest(`an item of a list in the patch does not contain declared merge key: ${key}`);
  }
}

/**
 * Sorts items: those in `order` get its order. The others, which the patch's author did not know, keep their
 * order of `before`, as close to their old positions as possible (strategicpatch normalizeElementOrder).
 */
export function sortItems(
  key: string | undefined,
  items: readonly unknown[],
  order: readonly unknown[],
  before: readonly unknown[],
): unknown[] {
  const rank = indexByKey(order, key);
  const indexOf = indexByKey(before, key);
  const known = items.filter((item) => rank(item) !== -1).toSorted((left, right) => rank(left) - rank(right));
  const others = items
    .filter((item) => rank(item) === -1)
    .toSorted((left, right) => indexOf(left) - indexOf(right));
  const sorted: unknown[] = [];
  let next = 0;
  for (const item of known) {
    const here = indexOf(item);
    while (next < others.length && isBefore(indexOf(others[next]), here)) {
      sorted.push(others[next]);
      next += 1;
    }
    sorted.push(item);
  }
  return [...sorted, ...others.slice(next)];
}

const isBefore = (index: number, here: number): boolean => index !== -1 && here !== -1 && index < here;

/** Throws ApiError 400 if the patch's items are not all in its own `$setElementOrder`, in that order. */
export function assertOrdered(
  field: string,
  key: string | undefined,
  patch: readonly unknown[],
  order: readonly unknown[],
): void {
  if (patch.some((item) => directiveOf(item) === 'replace')) return;
  const ranks = patch.filter((item) => directiveOf(item) !== 'delete').map(indexByKey(order, key));
  const ordered = ranks.every((rank, index) => rank !== -1 && rank >= (ranks[index - 1] ?? 0));
  if (!ordered) throw badRequest(`the order in patch list ${field} does not match $setElementOrder/${field}`);
}

/**
 * Returns the schema of a member. If the schema does not describe the member, returns one that replaces the
 * value.
 */
export function memberOf(schema: Schema, key: string): Schema {
  if (schema.type === 'map') return schema.values;
  const known =
    schema.type === 'object' && Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
  return known ?? { type: 'anything' };
}

/** Sets a member. Unlike an assignment, it treats `__proto__` as a plain key, as JSON does. */
export function setMember(record: JsonRecord, key: string, value: unknown): void {
  Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns a copy of a new value of a patch, without directives, nulls, and items that the patch deletes. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value
      .filter((item) => !(isRecord(item) && Object.hasOwn(item, '$patch') && item['$patch'] === 'delete'))
      .map(withoutDirectives);
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value)
    .filter(([key, item]) => !key.startsWith('$') && item !== null)
    .map(([key, item]) => [key, withoutDirectives(item)] as const);
  return Object.fromEntries(entries);
}
