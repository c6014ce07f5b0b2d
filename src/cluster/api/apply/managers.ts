import type { Kind } from '../kinds/kind.ts';
import type { JsonRecord } from '../schema/json.ts';
import { isRecord, jsonEqual, measure } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { fieldsOf, fromFieldsV1, sameFields, toFieldsV1, union, valueAt, without } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import type { Shape } from './shape.ts';

/** Who set which fields of an object: an entry of metadata.managedFields. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource: string;
  readonly apiVersion: string;
  /** RFC 3339, of the last change of this entry. */
  readonly time: string;
  readonly fields: FieldSet;
}

const maximumManaged = 10_000;

/** Whether an object has too many values for managers of its fields, which take a search for each field. */
export const isTooLargeToManage = (object: unknown): boolean => measure(object).size > maximumManaged;

/** What a write is recorded as. */
export type Writer = Omit<Manager, 'fields'>;

const word = (value: unknown): string => (typeof value === 'string' ? value : '');

export function managersOf({ metadata }: Pick<StoredObject, 'metadata'>): Manager[] {
  return (metadata.managedFields ?? []).filter(isRecord).map((entry) => ({
    manager: word(entry['manager']),
    operation: entry['operation'] === 'Apply' ? 'Apply' : 'Update',
    subresource: word(entry['subresource']),
    apiVersion: word(entry['apiVersion']),
    time: word(entry['time']),
    fields: fromFieldsV1(entry['fieldsV1']),
  }));
}

export function toManagedFields(managers: readonly Manager[]): JsonRecord[] {
  return managers
    .filter(({ fields }) => fields.size > 0)
    .map(({ manager, operation, subresource, apiVersion, time, fields }) => ({
      ...{ manager, operation, apiVersion, time, fieldsType: 'FieldsV1', fieldsV1: toFieldsV1(fields) },
      ...(subresource !== '' && { subresource }),
    }));
}

export const isBy = (one: Writer, other: Writer): boolean =>
  one.manager === other.manager && one.operation === other.operation && one.subresource === other.subresource;

/** What a write can touch: `/status` the status alone, the rest not the status of a kind that has `/status`. */
export function writableContent(
  kind: Kind,
  object: StoredObject,
  subresource: 'status' | undefined,
): JsonRecord {
  const { status, ...content } = managedContent(object);
  if (subresource === 'status') return status === undefined ? {} : { status };
  return kind.hasStatus || status === undefined ? content : { ...content, status };
}

/** The content that managers have: not what names the object, nor what the server keeps of it. */
export function managedContent({ metadata, ...content }: StoredObject): JsonRecord {
  const { apiVersion: _version, kind: _kind, ...rest } = content as JsonRecord;
  const { labels, annotations, finalizers, ownerReferences } = metadata;
  const kept = { labels, annotations, finalizers, ownerReferences };
  const present = Object.entries(kept).filter(([, value]) => value !== undefined);
  return { ...rest, ...(present.length > 0 && { metadata: Object.fromEntries(present) }) };
}

/**
 * The managers after a write that was no apply: what it changed or added is the writer's, what it changed or took away
 * is nobody else's. Pure.
 */
export function afterUpdate(
  shape: Shape,
  { current, draft }: { readonly current: StoredObject; readonly draft: StoredObject },
  writer: Writer,
): Manager[] {
  const [before, after] = [managedContent(current), managedContent(draft)];
  const present = fieldsOf(shape, after);
  const changed = new Map(
    [...present].filter(([, path]) => !jsonEqual(valueAt(shape, before, path), valueAt(shape, after, path))),
  );
  const gone = without(fieldsOf(shape, before), present);
  const managers = managersOf(current);
  const own = managers.find((one) => isBy(one, writer));
  const fields = union(without(own?.fields ?? new Map(), gone), changed);
  if (own === undefined) return [...managers.map(losing(changed, gone)), { ...writer, fields }];
  const mine = sameFields(own.fields, fields) ? own : { ...writer, fields };
  return managers.map((one) => (one === own ? mine : losing(changed, gone)(one)));
}

const losing =
  (...sets: readonly FieldSet[]) =>
  (one: Manager): Manager => ({ ...one, fields: without(one.fields, ...sets) });
