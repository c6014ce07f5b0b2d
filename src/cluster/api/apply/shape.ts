import { keepsUnknown, memberOf } from '../custom/structural-schema.ts';
import type { StructuralSchema } from '../custom/structural-schema.ts';
import type { Kind } from '../kinds/kind.ts';
import type { JsonRecord } from '../schema/json.ts';
import { isRecord } from '../schema/json.ts';
import { objectMeta } from '../schema/schema.ts';
import type { Schema } from '../schema/schema.ts';

/** How server-side apply treats a value: as one, member by member, or item by item. */
export type Shape =
  | { readonly type: 'atomic' }
  | { readonly type: 'members'; readonly member: (key: string) => Shape }
  /** A list whose items are told apart by these members. */
  | {
      readonly type: 'keyed';
      readonly keys: readonly string[];
      readonly item: Shape;
      /** Members of a key that an item may leave out. */
      readonly defaults: JsonRecord;
    }
  | { readonly type: 'set' };

const atomic: Shape = { type: 'atomic' };

/** What no schema describes: objects by member, lists as one. */
const free: Shape = { type: 'members', member: () => free };

/** The shape of the objects of a kind. */
export function shapeOf(kind: Kind): Shape {
  if (kind.custom === undefined) return ofSchema(kind.schema);
  const content = ofStructural(kind.custom);
  const metadata = ofSchema(objectMeta);
  return {
    type: 'members',
    member: (key) => {
      if (key === 'metadata') return metadata;
      return content.type === 'members' ? content.member(key) : atomic;
    },
  };
}

function ofSchema(schema: Schema): Shape {
  switch (schema.type) {
    case 'object':
      return { type: 'members', member: (key) => ofField(schema.fields, key) };
    case 'map':
      return { type: 'members', member: () => ofSchema(schema.values) };
    case 'list':
      if (schema.merge === undefined) return atomic;
      if (schema.merge === 'set') return { type: 'set' };
      return keyedBy(schema.merge.key, ofSchema(schema.items));
    default:
      return atomic;
  }
}

function ofField(fields: Readonly<Record<string, Schema>>, key: string): Shape {
  const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
  return field === undefined ? atomic : ofSchema(field);
}

/** Ports have the protocol in their key too, which strategic merge does not know (listMapKey in k8s.io/api/core/v1). */
function keyedBy(key: string, item: Shape): Shape {
  const isPort = key === 'containerPort' || key === 'port';
  return {
    type: 'keyed',
    keys: isPort ? [key, 'protocol'] : [key],
    item,
    defaults: isPort ? { protocol: 'TCP' } : {},
  };
}

function ofStructural(schema: StructuralSchema): Shape {
  const word = schema as StructuralSchema & { readonly 'x-kubernetes-map-type'?: string };
  if (schema.type === 'array') return ofList(schema);
  if (schema.type !== 'object' && !keepsUnknown(schema)) return atomic;
  if (word['x-kubernetes-map-type'] === 'atomic') return atomic;
  return {
    type: 'members',
    member: (key) => {
      const member = memberOf(schema, key);
      return member === undefined ? free : ofStructural(member);
    },
  };
}

function ofList(schema: StructuralSchema): Shape {
  const { items = {} } = schema;
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return { type: 'set' };
    case 'map': {
      const keys = schema['x-kubernetes-list-map-keys'] ?? [];
      const pairs = keys.map((key) => [key, items.properties?.[key]?.default] as const);
      const defaults = Object.fromEntries(pairs.filter(([, value]) => value !== undefined));
      return { type: 'keyed', keys, item: ofStructural(items), defaults };
    }
    default:
      return atomic;
  }
}

/** The key of an item; undefined for what is no object. */
export function keyOfItem(shape: Shape & { type: 'keyed' }, item: unknown): JsonRecord | undefined {
  if (!isRecord(item)) return undefined;
  return Object.fromEntries(
    shape.keys.toSorted().map((key) => [key, item[key] ?? shape.defaults[key] ?? null]),
  );
}
