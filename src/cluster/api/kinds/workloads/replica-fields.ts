import type { LabelSelector } from '../../../../kubernetes/pod.ts';
import { invalidValue, required } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { fields, integer, listOf, text, time } from '../../schema/schema.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { at } from '../columns.ts';
import { checkLabels } from '../names.ts';

export const condition = fields({
  ...{ type: text, status: text, reason: text, message: text },
  ...{ lastTransitionTime: time, lastUpdateTime: time },
});

export const replicaStatus = fields({
  ...{ replicas: integer, fullyLabeledReplicas: integer, readyReplicas: integer },
  ...{ availableReplicas: integer, observedGeneration: integer },
  conditions: listOf(condition, { key: 'type' }),
});

export const count = (object: StoredObject, ...path: readonly string[]): number =>
  Number(at(object, ...path) ?? 0);

export function checkCounts(spec: unknown, names: readonly string[]): Cause[] {
  return names.flatMap((name) => {
    const value = (spec as Readonly<Record<string, unknown>> | undefined)?.[name];
    return typeof value === 'number' && value < 0
      ? [invalidValue(`spec.${name}`, value, 'must be greater than or equal to 0')]
      : [];
  });
}

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** Causes for a selector that has to select something. */
export function checkSelector(field: string, selector: LabelSelector | undefined): Cause[] {
  if (selector === undefined) return [required(field)];
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) {
    return [invalidValue(field, selector, 'empty selector is invalid for this kind')];
  }
  return [
    ...checkLabels(`${field}.matchLabels`, matchLabels),
    ...matchExpressions
      .filter(({ operator }) => !operators.includes(operator))
      .map(({ operator }) =>
        invalidValue(`${field}.matchExpressions`, operator, 'not a valid selector operator'),
      ),
  ];
}

/** `a=b,c in (d)`, as kubectl prints it and a Scale carries it. */
export function selectorText(selector: LabelSelector | undefined): string {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  return [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      switch (operator) {
        case 'In':
          return `${key} in (${values.join(',')})`;
        case 'NotIn':
          return `${key} notin (${values.join(',')})`;
        case 'Exists':
          return key;
        default:
          return `!${key}`;
      }
    }),
  ].join(',');
}
