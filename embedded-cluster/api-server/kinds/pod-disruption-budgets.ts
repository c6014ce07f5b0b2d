import type { PodDisruptionBudget } from '../../../src/kubernetes/types/service.ts';
import { podDisruptionBudgets } from '../../../src/kubernetes/resources.ts';
import { invalidValue, unsupportedValue, type Cause } from '../errors/field-causes.ts';
import { fields, integer, integerOrText, kindSchema, array, mapOf, string, time } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { ageColumn, valueAt, column, nameColumn } from './columns.ts';
import type { MutableObject, Kind } from './kind.ts';
import { labelSelector } from './node-selector-schema.ts';

const condition = fields({
  ...{ type: string, status: string, reason: string, message: string },
  ...{ lastTransitionTime: time, observedGeneration: integer },
});

const policies = ['AlwaysAllow', 'IfHealthyBudget'];
const specOf = (draft: MutableObject | StoredObject): PodDisruptionBudget['spec'] =>
  (draft as unknown as PodDisruptionBudget).spec ?? {};

/** kubernetes: pkg/apis/policy/validation/validation.go */
function validate(draft: MutableObject): Cause[] {
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy: policy } = specOf(draft);
  return [
    ...(minAvailable !== undefined && maxUnavailable !== undefined
      ? [invalidValue('spec', specOf(draft), 'minAvailable and maxUnavailable cannot be both set')]
      : []),
    ...checkAmount('spec.minAvailable', minAvailable),
    ...checkAmount('spec.maxUnavailable', maxUnavailable),
    ...(policy === undefined || policies.includes(policy)
      ? []
      : [unsupportedValue('spec.unhealthyPodEvictionPolicy', policy, policies)]),
  ];
}

function checkAmount(field: string, amount: number | string | undefined): Cause[] {
  if (amount === undefined) return [];
  if (typeof amount === 'number')
    return amount >= 0 ? [] : [invalidValue(field, amount, 'must be greater than or equal to 0')];
  const percent = /^(\d+)%$/u.exec(amount)?.[1];
  const detail =
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
  if (percent === undefined) return [invalidValue(field, amount, detail)];
  return Number(percent) > 100 ? [invalidValue(field, amount, 'must not be greater than 100%')] : [];
}

const shown = (key: 'minAvailable' | 'maxUnavailable') => (object: StoredObject) =>
  String(specOf(object)[key] ?? 'N/A');

export const podDisruptionBudgetKind: Kind = {
  resource: podDisruptionBudgets,
  name: 'PodDisruptionBudget',
  singular: 'poddisruptionbudget',
  shortNames: ['pdb'],
  categories: [],
  schema: kindSchema({
    spec: fields({
      minAvailable: integerOrText,
      maxUnavailable: integerOrText,
      selector: labelSelector,
      unhealthyPodEvictionPolicy: string,
    }),
    status: fields({
      observedGeneration: integer,
      disruptedPods: mapOf(time),
      ...{ disruptionsAllowed: integer, currentHealthy: integer },
      ...{ desiredHealthy: integer, expectedPods: integer },
      conditions: array(condition, { key: 'type' }),
    }),
  }),
  hasStatus: true,
  countsGenerations: true,
  nameRule: 'subdomain',
  columns: [
    nameColumn,
    column('Min Available', shown('minAvailable')),
    column('Max Unavailable', shown('maxUnavailable')),
    column('Allowed Disruptions', (object) => Number(valueAt(object, 'status', 'disruptionsAllowed') ?? 0), {
      type: 'integer',
    }),
    ageColumn,
  ],
  prepareCreate: (draft) => {
    delete draft['status'];
  },
  validate,
};
