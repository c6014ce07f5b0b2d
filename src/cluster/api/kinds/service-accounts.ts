import { serviceAccounts } from '../../../kubernetes/resources.ts';
import { fields, boolean, kindSchema, array, string } from '../schema/schema.ts';
import { ageColumn, nameColumn } from './columns.ts';
import type { Kind } from './kind.ts';

/** The account that each namespace has, and that pods have which name none. */
export const defaultAccount = 'default';

/** Without `secrets`: tokens come from the subresource token and from projected volumes, as since Kubernetes 1.24. */
export const serviceAccountKind: Kind = {
  resource: serviceAccounts,
  name: 'ServiceAccount',
  singular: 'serviceaccount',
  shortNames: ['sa'],
  categories: [],
  schema: kindSchema({
    automountServiceAccountToken: boolean,
    imagePullSecrets: array(fields({ name: string })),
  }),
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'subdomain',
  columns: [nameColumn, ageColumn],
  validate: () => [],
};
