import { leases } from '../../../src/kubernetes/resources.ts';
import { invalidValue } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { fields, integer, kindSchema, string, time } from '../schema/schema.ts';
import { valueAt } from './columns.ts';
import type { MutableObject, Kind } from './kind.ts';

/** pkg/apis/coordination/validation/validation.go, ValidateLeaseSpec. */
function validate(draft: MutableObject): Cause[] {
  const duration = valueAt(draft, 'spec', 'leaseDurationSeconds');
  const transitions = valueAt(draft, 'spec', 'leaseTransitions');
  return [
    ...(typeof duration === 'number' && duration <= 0
      ? [invalidValue('spec.leaseDurationSeconds', duration, 'must be greater than 0')]
      : []),
    ...(typeof transitions === 'number' && transitions < 0
      ? [invalidValue('spec.leaseTransitions', transitions, 'must be greater than or equal to 0')]
      : []),
  ];
}

/** The heartbeat of a node, which the node life cycle controller reads. */
export const leaseKind: Kind = {
  resource: leases,
  name: 'Lease',
  singular: 'lease',
  shortNames: [],
  categories: [],
  schema: kindSchema({
    spec: fields({
      holderIdentity: string,
      leaseDurationSeconds: integer,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: integer,
    }),
  }),
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'subdomain',
  fillDefaults: (draft) => {
    draft['spec'] ??= {};
  },
  validate,
};
