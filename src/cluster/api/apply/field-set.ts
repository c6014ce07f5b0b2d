import type { JsonRecord } from '../schema/json.ts';
import { canonicalText, isRecord } from '../schema/json.ts';
import { keyOfItem } from './shape.ts';
import type { Shape } from './shape.ts';

/** `f:name` of a member, `k:{...}` of an item by its key, `v:...` of a member of a set: the words of FieldsV1. */
export type FieldPath = readonly string[];

/** Fields by their paths as text. */
export type FieldSet = ReadonlyMap<string, FieldPath>;

const textOf = (path: FieldPath): string => JSON.stringify(path);

export function fieldSet(paths: Iterable<FieldPath>): FieldSet {
  return new Map([...paths].map((path) => [textOf(path), path]));
}

/** Every field that a value has. */
export function fieldsOf(shape: Shape, value: unknown): FieldSet {
  return fieldSet(pathsOf(shape, value, []));
}

function* pathsOf(shape: Shape, value: unknown, path: FieldPath): Generator<FieldPath> {
  if (shape.type === 'members' && isRecord(value)) {
    const entries = Object.entries(value);
    if (entries.length === 0 && path.length > 0) yield path;
    for (const [key, item] of entries) yield* pathsOf(shape.member(key), item, [...path, `f:${key}`]);
  } else if (shape.type === 'keyed' && Array.isArray(value)) {
    for (const item of value) {
      const at = [...path, `k:${keyText(shape, item)}`];
      yield at;
      yield* pathsOf(shape.item, item, at);
    }
  } else if (shape.type === 'set' && Array.isArray(value)) {
    for (const item of value) yield [...path, `v:${JSON.stringify(item)}`];
  } else {
    yield path;
  }
}

const keyText = (shape: Shape & { type: 'keyed' }, item: unknown): string =>
  JSON.stringify(keyOfItem(shape, item)) ?? '';

export function without(set: FieldSet, ...others: readonly FieldSet[]): FieldSet {
  return new Map([...set].filter(([text]) => !others.some((other) => other.has(text))));
}

export function union(...sets: readonly FieldSet[]): FieldSet {
  return new Map(sets.flatMap((set) => [...set]));
}

export function sameFields(one: FieldSet, other: FieldSet): boolean {
  return one.size === other.size && [...one.keys()].every((text) => other.has(text));
}

/** metav1.FieldsV1: the paths as nested members, `.` for an item itself. */
export function toFieldsV1(set: FieldSet): JsonRecord {
  const root: JsonRecord = {};
  const rank = (path: FieldPath): string => path.join('\0');
  const paths = [...set.values()].toSorted((left, right) => (rank(left) < rank(right) ? -1 : 1));
  for (const path of paths) {
    let at = root;
    for (const word of path) at = (at[word] ??= {}) as JsonRecord;
    if (path.at(-1)?.startsWith('k:') === true) at['.'] = {};
  }
  return root;
}

export function fromFieldsV1(fields: unknown): FieldSet {
  return fieldSet(nested(fields, []));
}

function* nested(fields: unknown, path: FieldPath): Generator<FieldPath> {
  const entries = isRecord(fields) ? Object.entries(fields) : [];
  if (entries.length === 0 && path.length > 0) yield path;
  for (const [word, below] of entries) {
    if (word === '.') yield path;
    else yield* nested(below, [...path, word]);
  }
}

/** What a path leads to, undefined where there is nothing. */
export function valueAt(shape: Shape, value: unknown, [word, ...rest]: FieldPath): unknown {
  if (word === undefined) return value;
  const text = word.slice(2);
  if (shape.type === 'members' && isRecord(value)) {
    return Object.hasOwn(value, text) ? valueAt(shape.member(text), value[text], rest) : undefined;
  }
  if (!Array.isArray(value)) return undefined;
  if (shape.type === 'keyed') {
    const item = value.find((one) => keyText(shape, one) === text);
    // that an item is there is all that its own path says
    return rest.length === 0 ? item !== undefined : valueAt(shape.item, item, rest);
  }
  return shape.type === 'set' ? value.find((one) => JSON.stringify(one) === text) : undefined;
}

/** A copy without what the path leads to. */
export function removeAt(shape: Shape, value: unknown, [word, ...rest]: FieldPath): unknown {
  if (word === undefined) return undefined;
  const text = word.slice(2);
  if (shape.type === 'members' && isRecord(value)) {
    const { [text]: member, ...others } = value;
    if (member === undefined) return value;
    const left = removeAt(shape.member(text), member, rest);
    return left === undefined ? others : { ...value, [text]: left };
  }
  if (!Array.isArray(value)) return value;
  if (shape.type === 'set') return value.filter((one) => JSON.stringify(one) !== text);
  if (shape.type !== 'keyed') return value;
  return value.flatMap((one: unknown) => {
    if (keyText(shape, one) !== text) return [one];
    const left = removeAt(shape.item, one, rest);
    return left === undefined ? [] : [left];
  });
}

/** Both, where they differ the second. */
export function mergeApplied(shape: Shape, value: unknown, applied: unknown): unknown {
  if (shape.type === 'members' && isRecord(value) && isRecord(applied)) {
    const merged: JsonRecord = { ...value };
    for (const [key, item] of Object.entries(applied))
      merged[key] = mergeApplied(shape.member(key), value[key], item);
    return merged;
  }
  if (!Array.isArray(value) || !Array.isArray(applied) || shape.type === 'atomic') return applied;
  if (shape.type === 'set') {
    const present = new Set(value.map(canonicalText));
    return [...value, ...applied.filter((item) => !present.has(canonicalText(item)))] as unknown[];
  }
  if (shape.type !== 'keyed') return applied;
  const wanted = new Map(applied.toReversed().map((item: unknown) => [keyText(shape, item), item]));
  const present = new Set(value.map((one) => keyText(shape, one)));
  const kept = value.map((one: unknown) => {
    const item = wanted.get(keyText(shape, one));
    return item === undefined ? one : mergeApplied(shape.item, one, item);
  });
  return [...kept, ...applied.filter((item) => !present.has(keyText(shape, item)))] as unknown[];
}

/** `.spec.containers[name="web"].image`, as conflicts and errors print a path. */
export function printPath(path: FieldPath): string {
  return path
    .map((word) => {
      const text = word.slice(2);
      if (word.startsWith('f:')) return `.${text}`;
      if (word.startsWith('v:')) return `[=${text}]`;
      const key = JSON.parse(text) as JsonRecord;
      return `[${Object.entries(key)
        .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
        .join(',')}]`;
    })
    .join('');
}
