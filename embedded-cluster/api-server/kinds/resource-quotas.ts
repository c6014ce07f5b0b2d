import { resourceQuotas } from '../../../src/kubernetes/resources.ts';
import { resourceOfName } from '../admission/quota.ts';
import { invalidValue, unsupported, type Cause } from '../errors/field-causes.ts';
import { isRecord } from '../schema/json.ts';
import { fields, kindSchema, mapOf, quantity } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { valueAt } from './columns.ts';
import type { MutableObject, Kind } from './kind.ts';
import { parseQuantity } from './quantities.ts';

function hardOf(object: MutableObject | StoredObject): [string, string][] {
  const hard = valueAt(object, 'spec', 'hard');
  return isRecord(hard) ? Object.entries(hard).map(([name, value]) => [name, String(value)]) : [];
}

function validate(draft: MutableObject): Cause[] {
  return hardOf(draft).flatMap(([name, value]) => {
    const field = `spec.hard[${name}]`;
    const amount = parseQuantity(value);
    return [
      ...(resourceOfName(name) === undefined ? [unsupported(field, `quotas of ${name}`)] : []),
      ...(amount === undefined ? [invalidValue(field, value, 'must be a quantity')] : []),
      ...(amount !== undefined && amount < 0n
        ? [invalidValue(field, value, 'must be greater than or equal to 0')]
        : []),
    ];
  });
}

/** ResourceQuota without scopes: a quota applies to its whole namespace. */
export const resourceQuotaKind: Kind = {
  resource: resourceQuotas,
  name: 'ResourceQuota',
  singular: 'resourcequota',
  shortNames: ['quota'],
  categories: [],
  schema: kindSchema({
    spec: fields({ hard: mapOf(quantity) }),
    status: fields({ hard: mapOf(quantity), used: mapOf(quantity) }),
  }),
  hasStatus: true,
  countsGenerations: false,
  nameRule: 'subdomain',
  prepareCreate: (draft) => {
    delete draft['status'];
  },
  validate,
};
