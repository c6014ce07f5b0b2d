import type { ObjectSchema, Schema } from '../schema.ts';

export interface ObjectNode {
  /** Without indices; empty: the kind itself. */
  readonly path: string;
  readonly schema: ObjectSchema;
}

/** Every object in a kind's schema, the kind itself first; not metadata and status, which are the same for all. */
export function objectsIn(schema: Schema, path = ''): readonly ObjectNode[] {
  if (path === 'metadata' || path === 'status') return [];
  if (schema.type === 'list') return objectsIn(schema.items, path);
  if (schema.type === 'map') return objectsIn(schema.values, `${path}.*`);
  if (schema.type !== 'object') return [];
  const members = Object.entries(schema.fields).flatMap(([name, member]) =>
    objectsIn(member, path === '' ? name : `${path}.${name}`),
  );
  return [{ path, schema }, ...members];
}
