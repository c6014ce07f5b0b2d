import { invalidValue } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { isRecord } from '../../schema/json.ts';
import { memberOf, memberPath } from '../structural-schema.ts';
import type { StructuralSchema } from '../structural-schema.ts';
import { evaluateRule } from './evaluate-rule.ts';
import { parseRule } from './parse-rule.ts';
import { isTransition } from './rule-expression.ts';

/**
 * Causes for the rules (`x-kubernetes-validations`) that a value breaks. With `old`, the former value, those rules are
 * meant that compare with it, for what both have; without it all the others.
 * The value has passed the rest of its schema.
 */
export function checkSchemaRules(
  schema: StructuralSchema,
  value: unknown,
  path: string,
  old?: { readonly value: unknown },
): Cause[] {
  const broken = (schema['x-kubernetes-validations'] ?? []).filter(({ rule }) => !holds(rule, value, old));
  return [
    ...broken.map(({ rule, message }) =>
      invalidValue(path, Array.isArray(value) ? 'array' : typeof value, message ?? `failed rule: ${rule}`),
    ),
    ...members(schema, value, path, old),
  ];
}

/** Whether the schema has rules, anywhere. */
export function hasRules(schema: StructuralSchema): boolean {
  const { additionalProperties, items, properties = {} } = schema;
  const parts = [...Object.values(properties), ...(items === undefined ? [] : [items])];
  if (isRecord(additionalProperties)) parts.push(additionalProperties);
  return (schema['x-kubernetes-validations'] ?? []).length > 0 || parts.some(hasRules);
}

function holds(rule: string, self: unknown, old: { readonly value: unknown } | undefined): boolean {
  const expression = parseRule(rule);
  // definitions with a rule that cannot be parsed are refused
  if (expression === undefined || isTransition(expression) !== (old !== undefined)) return true;
  return evaluateRule(expression, { self, oldSelf: old?.value }) === true;
}

function members(
  schema: StructuralSchema,
  value: unknown,
  path: string,
  old: { readonly value: unknown } | undefined,
): Cause[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    // items have no former self: definitions that ask for one are refused
    if (items === undefined || old !== undefined) return [];
    return value.flatMap((item, index) => checkSchemaRules(items, item, `${path}[${index}]`));
  }
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const member = memberOf(schema, key);
    if (member === undefined) return [];
    if (old === undefined) return checkSchemaRules(member, item, memberPath(path, key));
    if (!isRecord(old.value) || !Object.hasOwn(old.value, key)) return [];
    return checkSchemaRules(member, item, memberPath(path, key), { value: old.value[key] });
  });
}
