import { duplicate, invalidValue, required, unsupportedValue, wrongType } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { isRecord, jsonEqual } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import { checkNumber, checkText } from './scalar-validation.ts';
import { memberOf, memberPath } from './structural-schema.ts';
import type { StructuralSchema } from './structural-schema.ts';

/**
 * Causes for what a value has that its schema forbids, in the words of kube-openapi pkg/validation. The value is
 * pruned and has its defaults already.
 */
export function validateStructural(schema: StructuralSchema, value: unknown, path: string): Cause[] {
  if (value === null && schema.nullable === true) return [];
  const mistyped = checkType(schema, value, path);
  if (mistyped.length > 0) return mistyped;
  return [
    ...checkEnum(schema, value, path),
    ...(typeof value === 'string' ? checkText(schema, value, path) : []),
    ...(typeof value === 'number' ? checkNumber(schema, value, path) : []),
    ...(Array.isArray(value) ? checkList(schema, value, path) : []),
    ...(isRecord(value) ? checkMembers(schema, value, path) : []),
    ...checkCombinations(schema, value, path),
  ];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function checkType(schema: StructuralSchema, value: unknown, path: string): Cause[] {
  const found = typeOf(value);
  if (schema['x-kubernetes-int-or-string'] === true) {
    return found === 'integer' || found === 'string' ? [] : [mistype(path, 'integer,string', found)];
  }
  const { type } = schema;
  if (type === undefined || type === found || (type === 'number' && found === 'integer')) return [];
  return [mistype(path, type, found)];
}

const mistype = (path: string, type: string, found: string): Cause =>
  wrongType(path, found, `${path} in body must be of type ${type}: ${JSON.stringify(found)}`);

function checkEnum(schema: StructuralSchema, value: unknown, path: string): Cause[] {
  if (schema.enum === undefined || schema.enum.some((item) => jsonEqual(item, value))) return [];
  return [
    unsupportedValue(
      path,
      value,
      schema.enum.map((item) => (typeof item === 'string' ? item : JSON.stringify(item))),
    ),
  ];
}

function checkList(schema: StructuralSchema, list: readonly unknown[], path: string): Cause[] {
  const { items, minItems = 0, maxItems = Infinity } = schema;
  return [
    ...(list.length < minItems
      ? [invalidValue(path, list.length, `${path} in body should have at least ${minItems} items`)]
      : []),
    ...(list.length > maxItems
      ? [invalidValue(path, list.length, `must have at most ${maxItems} items`)]
      : []),
    ...checkUnique(schema, list, path),
    ...(items === undefined
      ? []
      : list.flatMap((item, index) => validateStructural(items, item, `${path}[${index}]`))),
  ];
}

/** A set has each value once, a map each combination of its keys. */
function checkUnique(schema: StructuralSchema, list: readonly unknown[], path: string): Cause[] {
  const type = schema['x-kubernetes-list-type'] ?? 'atomic';
  if (type === 'atomic') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const identities = list.map((item) =>
    type === 'map' && isRecord(item) ? Object.fromEntries(keys.map((key) => [key, item[key]])) : item,
  );
  return identities.flatMap((identity, index) =>
    identities.slice(0, index).some((earlier) => jsonEqual(earlier, identity))
      ? [duplicate(`${path}[${index}]`, identity)]
      : [],
  );
}

function checkMembers(schema: StructuralSchema, record: JsonRecord, path: string): Cause[] {
  const { minProperties = 0, maxProperties = Infinity } = schema;
  const count = Object.keys(record).length;
  const missing = (schema.required ?? []).filter((key) => !Object.hasOwn(record, key));
  return [
    ...missing.map((key) => required(memberPath(path, key))),
    ...(count < minProperties
      ? [invalidValue(path, count, `${path} in body should have at least ${minProperties} properties`)]
      : []),
    ...(count > maxProperties
      ? [invalidValue(path, count, `must have at most ${maxProperties} properties`)]
      : []),
    ...Object.entries(record).flatMap(([key, item]) => {
      const member = memberOf(schema, key);
      return member === undefined ? [] : validateStructural(member, item, memberPath(path, key));
    }),
  ];
}

function checkCombinations(schema: StructuralSchema, value: unknown, path: string): Cause[] {
  const fitting = (schemas: readonly StructuralSchema[]): number =>
    schemas.filter((one) => validateStructural(one, value, path).length === 0).length;
  const fail = (text: string): Cause => invalidValue(path, typeOf(value), `${JSON.stringify(path)} ${text}`);
  const { allOf, anyOf, oneOf, not } = schema;
  const one = oneOf === undefined ? 1 : fitting(oneOf);
  return [
    ...(allOf ?? []).flatMap((each) => validateStructural(each, value, path)),
    ...(anyOf !== undefined && fitting(anyOf) === 0
      ? [fail('must validate at least one schema (anyOf)')]
      : []),
    ...(one === 1
      ? []
      : [
          fail(
            `must validate one and only one schema (oneOf). ${one === 0 ? 'Found none valid' : `Found ${one} valid alternatives`}`,
          ),
        ]),
    ...(not !== undefined && fitting([not]) === 1 ? [fail('must not validate the schema (not)')] : []),
  ];
}
