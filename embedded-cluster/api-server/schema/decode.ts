import type { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import { badRequest } from '../errors/status-errors.ts';
import { copyJson, isRecord, type JsonRecord } from './json.ts';
import type { ObjectSchema, Schema } from './schema.ts';

export interface DecodeOptions {
  /** Paths that the body's text contains more than once. */
  readonly duplicates?: readonly string[];
  /** Returns the error for unknown and duplicate fields. Absent: 400, as for a whole object. */
  readonly strictError?: (problems: readonly string[]) => ApiError;
}

interface DecodeErrors {
  readonly unknown: string[];
  readonly mistyped: string[];
}

/**
 * Returns a new copy of `value` with only the fields of the schema. Nulls, empty lists and empty maps are
 * dropped, as a real server does (`omitempty`). Decoding is always strict, whatever the query parameter
 * `fieldValidation` says: if a field that this server does not implement were dropped, the author of the
 * object would rely on it.
 *
 * Throws ApiError 400: for a field of the wrong type with the text of encoding/json, for an unknown or
 * duplicate field with the text of the real server's strict decoding.
 */
export function decodeObject(
  schema: ObjectSchema,
  value: unknown,
  kind: string,
  apiVersion: string,
  { duplicates = [], strictError }: DecodeOptions = {},
): JsonRecord {
  const problems: DecodeErrors = { unknown: [], mistyped: [] };
  const decoded = decode(schema, value, '', problems);
  const prefix = `${kind} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${kind}`;
  const [mistyped] = problems.mistyped;
  if (mistyped !== undefined) throw badRequest(`${prefix}: json: ${mistyped}`);
  const strictErrors = [
    ...problems.unknown.map((path) => `unknown field "${path}"`),
    ...duplicates.map((path) => `duplicate field "${path}"`),
  ];
  if (strictErrors.length > 0) {
    throw (
      strictError?.(strictErrors) ??
      badRequest(
        `${prefix}: strict decoding error: ${strictErrors.join(', ')} (the embedded cluster accepts only fields that it implements)`,
      )
    );
  }
  return isRecord(decoded) ? decoded : {};
}

function decode(schema: Schema, value: unknown, path: string, problems: DecodeErrors): unknown {
  switch (schema.type) {
    case 'string':
    case 'base64':
      return expectType(value, typeof value === 'string', path, 'string', problems);
    case 'integer':
      return expectType(value, Number.isSafeInteger(value), path, 'int64', problems);
    case 'boolean':
      return expectType(value, typeof value === 'boolean', path, 'bool', problems);
    case 'integerOrText':
      return expectType(
        value,
        typeof value === 'string' || Number.isSafeInteger(value),
        path,
        'intstr.IntOrString',
        problems,
      );
    case 'time':
      return expectType(value, isTime(value), path, 'Time', problems);
    case 'quantity':
      return typeof value === 'number'
        ? String(value)
        : expectType(value, typeof value === 'string', path, 'resource.Quantity', problems);
    case 'anything':
      return copyJson(value);
    case 'map':
      return decodeMap(schema.values, value, path, problems);
    case 'list':
      return decodeList(schema.items, value, path, problems);
    case 'object':
      return decodeFields(schema, value, path, problems);
  }
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value));
}

function expectType(
  value: unknown,
  ok: boolean,
  path: string,
  type: string,
  problems: DecodeErrors,
): unknown {
  if (ok) return value;
  const found = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  const name = found === 'boolean' ? 'bool' : found;
  problems.mistyped.push(`cannot unmarshal ${name} into Go struct field ${path} of type ${type}`);
  return undefined;
}

function decodeMap(values: Schema, value: unknown, path: string, problems: DecodeErrors): unknown {
  if (!isRecord(value)) return expectType(value, false, path, 'map', problems);
  const entries = Object.entries(value)
    .filter(([, item]) => item !== null && item !== undefined)
    .map(([key, item]) => [key, decode(values, item, `${path}.${key}`, problems)] as const);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function decodeList(items: Schema, value: unknown, path: string, problems: DecodeErrors): unknown {
  if (!Array.isArray(value)) return expectType(value, false, path, 'slice', problems);
  if (value.length === 0) return undefined;
  return value.map((item, index) => decode(items, item, `${path}[${index}]`, problems));
}

function decodeFields(schema: ObjectSchema, value: unknown, path: string, problems: DecodeErrors): unknown {
  if (!isRecord(value)) return expectType(value, false, path === '' ? 'body' : path, 'struct', problems);
  const decoded: JsonRecord = {};
  for (const [key, item] of Object.entries(value)) {
    const at = path === '' ? key : `${path}.${key}`;
    const field = Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
    if (field === undefined) {
      problems.unknown.push(at);
      continue;
    }
    if (item === null || item === undefined) continue;
    const member = decode(field, item, at, problems);
    if (member !== undefined) decoded[key] = member;
  }
  return decoded;
}
