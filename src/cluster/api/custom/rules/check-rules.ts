import { invalidValue, notDoneHere, required } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { isRecord } from '../../schema/json.ts';
import { parseRule } from './parse-rule.ts';
import { isTransition } from './rule-expression.ts';

/** What a rule may have; `messageExpression`, `fieldPath` and others are refused. */
const known = ['rule', 'message', 'reason'];

/** Causes for an `x-kubernetes-validations` that this server cannot hold. */
export function checkRules(field: string, value: unknown): Cause[] {
  if (!Array.isArray(value)) return [invalidValue(field, typeof value, 'must be a list of rules')];
  return value.flatMap((item: unknown, index) => checkRule(`${field}[${index}]`, isRecord(item) ? item : {}));
}

function checkRule(field: string, rule: Readonly<Record<string, unknown>>): Cause[] {
  const { rule: text, message = '', reason = 'FieldValueInvalid' } = rule;
  const strange = Object.keys(rule).filter((key) => !known.includes(key));
  return [
    ...strange.map((key) => notDoneHere(`${field}.${key}`, `${key} of validation rules`)),
    ...(typeof text !== 'string' || text === '' ? [required(`${field}.rule`)] : []),
    ...(typeof text === 'string' && text !== '' && parseRule(text) === undefined
      ? [notDoneHere(`${field}.rule`, `the expression ${JSON.stringify(text)}`)]
      : []),
    ...(typeof message === 'string'
      ? []
      : [invalidValue(`${field}.message`, typeof message, 'must be a string')]),
    ...(reason === 'FieldValueInvalid'
      ? []
      : [notDoneHere(`${field}.reason`, 'reasons other than FieldValueInvalid')]),
  ];
}

/** Causes for rules below lists that compare with a former self, which an item of a list does not have. */
export function checkTransitions(field: string, schema: unknown, inList = false): Cause[] {
  if (Array.isArray(schema))
    return schema.flatMap((item, index) => checkTransitions(`${field}[${index}]`, item, inList));
  if (!isRecord(schema)) return [];
  const own = schema['x-kubernetes-validations'];
  const rules = Array.isArray(own) && inList ? own.filter(isRecord) : [];
  const causes = rules
    .map(({ rule }) => (typeof rule === 'string' ? parseRule(rule) : undefined))
    .filter((expression) => expression !== undefined && isTransition(expression))
    .map(() =>
      invalidValue(
        `${field}.x-kubernetes-validations`,
        'oldSelf',
        'oldSelf cannot be used on the uncorrelatable portion of the schema',
      ),
    );
  const { items, properties, additionalProperties } = schema;
  return [
    ...causes,
    ...checkTransitions(`${field}.items`, items, true),
    ...checkTransitions(`${field}.additionalProperties`, additionalProperties, inList),
    ...Object.entries(isRecord(properties) ? properties : {}).flatMap(([key, member]) =>
      checkTransitions(`${field}.properties[${key}]`, member, inList),
    ),
  ];
}
