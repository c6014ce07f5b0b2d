import type { WireMessage, WireType } from './wire-message.ts';

type WireField = readonly [name: string, type: WireType];

const rule: WireMessage = {
  1: ['rule', 'text'],
  2: ['message', 'text'],
  3: ['messageExpression', 'text'],
  4: ['reason', 'text'],
  5: ['fieldPath', 'text'],
  6: ['optionalOldSelf', 'flag'],
};

/** JSONSchemaProps, which holds itself. */
const schema: Record<number, WireField> = {};
const schemaOrFlag: WireType = { oneOf: { 1: ['flag', 'flag'], 2: ['schema', { message: schema }] } };
const schemaOrList: WireType = {
  oneOf: { 1: ['one', { message: schema }], 2: ['all', { messages: schema }] },
};
Object.assign(schema, {
  1: ['id', 'text'],
  2: ['$schema', 'text'],
  3: ['$ref', 'text'],
  4: ['description', 'text'],
  5: ['type', 'text'],
  6: ['format', 'text'],
  7: ['title', 'text'],
  8: ['default', 'json'],
  9: ['maximum', 'double'],
  10: ['exclusiveMaximum', 'flagIfTrue'],
  11: ['minimum', 'double'],
  12: ['exclusiveMinimum', 'flagIfTrue'],
  13: ['maxLength', 'integer'],
  14: ['minLength', 'integer'],
  15: ['pattern', 'text'],
  16: ['maxItems', 'integer'],
  17: ['minItems', 'integer'],
  18: ['uniqueItems', 'flagIfTrue'],
  19: ['multipleOf', 'double'],
  20: ['enum', { list: 'json' }],
  21: ['maxProperties', 'integer'],
  22: ['minProperties', 'integer'],
  23: ['required', { list: 'text' }],
  24: ['items', schemaOrList],
  25: ['allOf', { messages: schema }],
  26: ['oneOf', { messages: schema }],
  27: ['anyOf', { messages: schema }],
  28: ['not', { message: schema }],
  29: ['properties', { mapOf: schema }],
  30: ['additionalProperties', schemaOrFlag],
  31: ['patternProperties', { mapOf: schema }],
  33: ['additionalItems', schemaOrFlag],
  34: ['definitions', { mapOf: schema }],
  35: ['externalDocs', { message: { 1: ['description', 'text'], 2: ['url', 'text'] } }],
  36: ['example', 'json'],
  37: ['nullable', 'flagIfTrue'],
  38: ['x-kubernetes-preserve-unknown-fields', 'flag'],
  39: ['x-kubernetes-embedded-resource', 'flagIfTrue'],
  40: ['x-kubernetes-int-or-string', 'flagIfTrue'],
  41: ['x-kubernetes-list-map-keys', { list: 'text' }],
  42: ['x-kubernetes-list-type', 'text'],
  43: ['x-kubernetes-map-type', 'text'],
  44: ['x-kubernetes-validations', { messages: rule }],
} satisfies Record<number, WireField>);

const names: WireMessage = {
  1: ['plural', 'text'],
  2: ['singular', 'text'],
  3: ['shortNames', { list: 'text' }],
  4: ['kind', 'text'],
  5: ['listKind', 'text'],
  6: ['categories', { list: 'text' }],
};

const version: WireMessage = {
  1: ['name', 'text'],
  2: ['served', 'flag'],
  3: ['storage', 'flag'],
  4: ['schema', { message: { 1: ['openAPIV3Schema', { message: schema }] } }],
  5: [
    'subresources',
    {
      message: {
        1: ['status', { message: {} }],
        2: [
          'scale',
          {
            message: {
              1: ['specReplicasPath', 'text'],
              2: ['statusReplicasPath', 'text'],
              3: ['labelSelectorPath', 'text'],
            },
          },
        ],
      },
    },
  ],
  6: [
    'additionalPrinterColumns',
    {
      messages: {
        1: ['name', 'text'],
        2: ['type', 'text'],
        3: ['format', 'text'],
        4: ['description', 'text'],
        5: ['priority', 'integer'],
        6: ['jsonPath', 'text'],
      },
    },
  ],
  7: ['deprecated', 'flagIfTrue'],
  8: ['deprecationWarning', 'text'],
  9: ['selectableFields', { messages: { 1: ['jsonPath', 'text'] } }],
};

const condition: WireMessage = {
  1: ['type', 'text'],
  2: ['status', 'text'],
  // made anew by the server, whatever a client sends
  3: ['lastTransitionTime', 'skipped'],
  4: ['reason', 'text'],
  5: ['message', 'text'],
  6: ['observedGeneration', 'skipped'],
};

/** CustomResourceDefinition without its metadata; numbers of apiextensions v1 generated.proto. */
export const definitionMessage: WireMessage = {
  2: [
    'spec',
    {
      message: {
        1: ['group', 'text'],
        3: ['names', { message: names }],
        4: ['scope', 'text'],
        7: ['versions', { messages: version }],
        9: ['conversion', { message: { 1: ['strategy', 'text'] } }],
        10: ['preserveUnknownFields', 'flagIfTrue'],
      },
    },
  ],
  3: [
    'status',
    {
      message: {
        1: ['conditions', { messages: condition }],
        2: ['acceptedNames', { message: names }],
        3: ['storedVersions', { list: 'text' }],
        4: ['observedGeneration', 'skipped'],
      },
    },
  ],
};
