import { duplicate, invalidValue, required, unsupportedValue, wrongType } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { repeatedPlaces } from '../kinds/repeated-places.ts';
import { canonicalText, isRecord, jsonEqual } from '../schema/json.ts';
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
    ...(isRecord(value) ? checkEmbedded(schema, value, path) : []),
    ...checkCombinations(schema, value, path),
  ];
}

/** An object within an object says what it is (apiextensions pkg/apiserver/schema/objectmeta). */
function checkEmbedded(schema: StructuralSchema, value: JsonRecord, path: string): Cause[] {
  if (schema['x-kubernetes-embedded-resource'] !== true) return [];
  return ['apiVersion', 'kind']
    .filter((key) => typeof value[key] !== 'string' || value[key] === '')
    .map((key) => required(memberPath(path, key), 'must not be empty'));
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
  return [...repeatedPlaces(identities.map(canonicalText))].map((index) =>
    duplicate(`${path}[${index}]`, identities[index]),
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

/**
 * What several schemas together forbid has a cause without a field. Where no alternative fits, the causes of the first follow:
 * kube-openapi shows those of the one that fits best, the first among equals.
 */
function checkCombinations(schema: StructuralSchema, value: unknown, path: string): Cause[] {
  const causesOf = (schemas: readonly StructuralSchema[] = []): Cause[][] =>
    schemas.map((one) => validateStructural(one, value, path));
  const fail = (text: string): Cause => invalidValue('<nil>', '', `${JSON.stringify(path)} ${text}`);
  const all = causesOf(schema.allOf).flat();
  const any = causesOf(schema.anyOf);
  const one = causesOf(schema.oneOf);
  const fitting = one.filter((causes) => causes.length === 0).length;
  const found = fitting === 0 ? 'Found none valid' : `Found ${fitting} valid alternatives`;
  return [
    ...(all.length === 0 ? [] : [...all, fail('must validate all the schemas (allOf)')]),
    ...(any.length === 0 || any.some((causes) => causes.length === 0)
      ? []
      : [fail('must validate at least one schema (anyOf)'), ...(any[0] ?? [])]),
    ...(one.length === 0 || fitting === 1
      ? []
      : [
          fail(`must validate one and only one schema (oneOf). ${found}`),
          ...(fitting === 0 ? (one[0] ?? []) : []),
        ]),
    ...(schema.not !== undefined && causesOf([schema.not]).flat().length === 0
      ? [fail('must not validate the schema (not)')]
      : []),
  ];
}
