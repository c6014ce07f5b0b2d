import {
  forbiddenField,
  invalidValue,
  notDoneHere,
  required,
  unsupportedValue,
} from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import { knownFormats } from './formats.ts';
import { checkRules, checkTransitions } from './rules/check-rules.ts';
import { structuralTypes } from './structural-schema.ts';

type Check = (field: string, value: unknown) => Cause[];

const expect =
  (type: string, ok: (value: unknown) => boolean): Check =>
  (field, value) =>
    ok(value) ? [] : [invalidValue(field, typeof value, `must be ${type}`)];
const aBoolean = expect('a boolean', (value) => typeof value === 'boolean');
const aNumber = expect('a number', (value) => typeof value === 'number');
const aCount = expect(
  'an integer of at least 0',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
const aText = expect('a string', (value) => typeof value === 'string');
const texts = expect(
  'a list of strings',
  (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
);
const anything: Check = () => [];

const schemas: Check = (field, value) =>
  Array.isArray(value)
    ? value.flatMap((item, index) => checkNode(`${field}[${index}]`, item, false))
    : [invalidValue(field, typeof value, 'must be a list of schemas')];

const members: Check = (field, value) =>
  isRecord(value)
    ? Object.entries(value).flatMap(([key, item]) => checkNode(`${field}[${key}]`, item, true))
    : [invalidValue(field, typeof value, 'must be an object of schemas')];

const oneOfWords =
  (words: readonly string[]): Check =>
  (field, value) =>
    typeof value === 'string' && words.includes(value) ? [] : [unsupportedValue(field, value, words)];

const keywords: Readonly<Record<string, Check>> = {
  type: oneOfWords(structuralTypes),
  properties: members,
  additionalProperties: (field, value) => (typeof value === 'boolean' ? [] : checkNode(field, value, true)),
  items: (field, value) => checkNode(field, value, true),
  required: texts,
  nullable: aBoolean,
  default: anything,
  enum: expect('a list', Array.isArray),
  format: oneOfWords(knownFormats),
  pattern: checkPattern,
  minLength: aCount,
  maxLength: aCount,
  minimum: aNumber,
  maximum: aNumber,
  exclusiveMinimum: aBoolean,
  exclusiveMaximum: aBoolean,
  multipleOf: expect('a number above 0', (value) => typeof value === 'number' && value > 0),
  minItems: aCount,
  maxItems: aCount,
  minProperties: aCount,
  maxProperties: aCount,
  allOf: schemas,
  anyOf: schemas,
  oneOf: schemas,
  not: (field, value) => checkNode(field, value, false),
  title: aText,
  description: aText,
  example: anything,
  externalDocs: anything,
  'x-kubernetes-preserve-unknown-fields': expect('true', (value) => value === true),
  'x-kubernetes-int-or-string': aBoolean,
  'x-kubernetes-list-type': oneOfWords(['atomic', 'set', 'map']),
  'x-kubernetes-list-map-keys': texts,
  'x-kubernetes-validations': checkRules,
  // how server-side apply merges (apply/shape.ts)
  'x-kubernetes-map-type': oneOfWords(['atomic', 'granular']),
  'x-kubernetes-embedded-resource': aBoolean,
  uniqueItems: (field, value) =>
    value === false ? [] : [forbiddenField(field, 'uniqueItems cannot be set to true')],
};

/** Only whole schemas may say these; the members of allOf, anyOf, oneOf and not only check values. */
const structural = [
  'x-kubernetes-validations',
  'type',
  'default',
  'nullable',
  'additionalProperties',
  'title',
  'description',
];

/**
 * Causes for what is no structural schema (apiextensions pkg/apiserver/schema/validation.go), and for keywords that
 * this server does not act on: refused, so that no rule of a definition is accepted and then not held.
 */
export function checkStructuralSchema(field: string, value: unknown): Cause[] {
  if (!isRecord(value)) return [required(field, 'schemas are required')];
  const root =
    value['type'] === 'object'
      ? []
      : [invalidValue(`${field}.type`, value['type'] ?? '', 'must be object at the root')];
  return [...root, ...checkNode(field, value, true), ...checkTransitions(field, value)];
}

function checkNode(field: string, value: unknown, whole: boolean): Cause[] {
  if (!isRecord(value)) return [invalidValue(field, typeof value, 'must be a schema')];
  const words = Object.entries(value).flatMap(([word, item]) => {
    if (!whole && structural.includes(word)) return checkPartial(field, word);
    const check = Object.hasOwn(keywords, word) ? keywords[word] : undefined;
    return check === undefined
      ? [notDoneHere(`${field}.${word}`, `${JSON.stringify(word)} in schemas`)]
      : check(`${field}.${word}`, item);
  });
  return whole ? [...words, ...checkWhole(field, value)] : words;
}

function checkPartial(field: string, word: string): Cause[] {
  return [forbiddenField(`${field}.${word}`, 'must be empty to be structural')];
}

function checkWhole(field: string, schema: JsonRecord): Cause[] {
  const free =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const both = schema['properties'] !== undefined && schema['additionalProperties'] !== undefined;
  return [
    ...(schema['type'] === undefined && !free
      ? [required(`${field}.type`, 'must not be empty for specified object fields')]
      : []),
    ...(schema['x-kubernetes-embedded-resource'] === true && schema['type'] !== 'object'
      ? [
          invalidValue(
            `${field}.type`,
            schema['type'] ?? '',
            'must be object if x-kubernetes-embedded-resource is true',
          ),
        ]
      : []),
    ...(schema['type'] === 'array' && schema['items'] === undefined
      ? [required(`${field}.items`, 'must be specified')]
      : []),
    ...(both
      ? [
          forbiddenField(
            `${field}.additionalProperties`,
            'additionalProperties and properties are mutual exclusive',
          ),
        ]
      : []),
    ...(schema['x-kubernetes-list-type'] === 'map' && schema['x-kubernetes-list-map-keys'] === undefined
      ? [
          required(
            `${field}.x-kubernetes-list-map-keys`,
            'must not be empty if x-kubernetes-list-type is map',
          ),
        ]
      : []),
  ];
}

function checkPattern(field: string, value: unknown): Cause[] {
  if (typeof value !== 'string') return aText(field, value);
  try {
    void new RegExp(value);
    return [];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return [invalidValue(field, value, `must be a valid regular expression, but isn't: ${error.message}`)];
  }
}
