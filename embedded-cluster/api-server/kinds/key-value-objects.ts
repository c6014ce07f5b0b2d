import { configMaps, secrets } from '../../../src/kubernetes/resources.ts';
import { forbiddenField, invalidValue, tooLong } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { isRecord, jsonEqual } from '../schema/json.ts';
import { base64, boolean, kindSchema, mapOf, string } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { ageColumn, valueAt, column, nameColumn, stringAt } from './columns.ts';
import type { MutableObject, Kind } from './kind.ts';

const maximumBytes = 1024 * 1024;
const keyPattern = /^[-._a-zA-Z0-9]+$/;
const keyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

function members(object: MutableObject | StoredObject, field: string): [string, string][] {
  const map = valueAt(object, field);
  return isRecord(map) ? Object.entries(map).map(([key, value]) => [key, String(value)]) : [];
}

function checkKeys(draft: MutableObject, field: string): Cause[] {
  return members(draft, field)
    .filter(([key]) => !keyPattern.test(key) || key.length > 253 || key === '.' || key.startsWith('..'))
    .map(([key]) => invalidValue(`${field}[${key}]`, key, keyText));
}

function checkImmutableData(draft: MutableObject, current: StoredObject, data: readonly string[]): Cause[] {
  if (current['immutable'] !== true) return [];
  const changed = data.filter((field) => !jsonEqual(draft[field] ?? {}, current[field] ?? {}));
  const mutable = draft['immutable'] === true ? [] : ['immutable'];
  return [...mutable, ...changed].map((field) =>
    forbiddenField(field, 'field is immutable when `immutable` is set'),
  );
}

const isBase64 = (value: string): boolean => Buffer.from(value, 'base64').toString('base64') === value;

function foldStringData(draft: MutableObject): void {
  const plain = members(draft, 'stringData');
  delete draft['stringData'];
  draft['type'] ??= 'Opaque';
  if (plain.length === 0) return;
  const encoded = plain.map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  draft['data'] = { ...(isRecord(draft['data']) ? draft['data'] : {}), ...Object.fromEntries(encoded) };
}

function validateSecret(draft: MutableObject): Cause[] {
  const data = members(draft, 'data');
  const bytes = data.reduce((sum, [, value]) => sum + Buffer.byteLength(value, 'base64'), 0);
  return [
    ...checkKeys(draft, 'data'),
    // The value itself must not get into an error text.
    ...data
      .filter(([, value]) => !isBase64(value))
      .map(([key]) => invalidValue(`data[${key}]`, '', 'must be base64 of the content')),
    ...(bytes > maximumBytes ? [tooLong('data', maximumBytes)] : []),
  ];
}

export const secretKind: Kind = {
  resource: secrets,
  name: 'Secret',
  singular: 'secret',
  shortNames: [],
  categories: [],
  schema: kindSchema({ data: mapOf(base64), stringData: mapOf(string), type: string, immutable: boolean }),
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('Type', (object) => stringAt(object, ['type'])),
    column('Data', (object) => members(object, 'data').length, { type: 'integer' }),
    ageColumn,
  ],
  fillDefaults: foldStringData,
  validate: validateSecret,
  validateUpdate: (draft, current) => [
    ...(draft['type'] === current['type'] ? [] : [invalidValue('type', draft['type'], 'field is immutable')]),
    ...checkImmutableData(draft, current, ['data']),
  ],
  selectableFields: (object) => ({ type: stringAt(object, ['type']) }),
};

export const configMapKind: Kind = {
  resource: configMaps,
  name: 'ConfigMap',
  singular: 'configmap',
  shortNames: ['cm'],
  categories: [],
  schema: kindSchema({ data: mapOf(string), binaryData: mapOf(base64), immutable: boolean }),
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('Data', (object) => members(object, 'data').length + members(object, 'binaryData').length, {
      type: 'integer',
    }),
    ageColumn,
  ],
  validate: (draft) => {
    const all = [...members(draft, 'data'), ...members(draft, 'binaryData')];
    const bytes = all.reduce((sum, [, value]) => sum + Buffer.byteLength(value), 0);
    return [
      ...checkKeys(draft, 'data'),
      ...checkKeys(draft, 'binaryData'),
      ...(bytes > maximumBytes ? [tooLong('', maximumBytes)] : []),
    ];
  },
  validateUpdate: (draft, current) => checkImmutableData(draft, current, ['data', 'binaryData']),
};
