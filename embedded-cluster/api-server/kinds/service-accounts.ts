import { serviceAccounts } from '../../../src/kubernetes/resources.ts';
import { fields, boolean, kindSchema, array, string } from '../schema/schema.ts';
import type { Kind } from './kind.ts';

/** The account that exists in each namespace and that pods get if they name none. */
export const defaultAccount = 'default';

/**
 * ServiceAccount without `secrets`: tokens come from the subresource token and from projected volumes, as
 * since Kubernetes 1.24.
 */
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
  validate: () => [],
};
