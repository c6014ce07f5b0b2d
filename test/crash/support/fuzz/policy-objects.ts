import type { Resource } from '../../../../src/kubernetes/api.ts';
import * as resources from '../../../../src/kubernetes/resources.ts';
import type { Random } from '../random.ts';
import type { Template } from './valid-objects.ts';

const rules = (random: Random): object[] => [
  { apiGroups: [''], resources: ['pods', 'pods/exec'], verbs: [random.oneOf(['get', 'list', '*'])] },
];
const subjects = [{ kind: 'ServiceAccount', name: 'n1', namespace: 'bosh' }];
const roleRef = (kind: string): object => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: 'n1' });

const review = (group: string, plural: string): Resource => ({
  group,
  version: 'v1',
  plural,
  namespaced: false,
});

const access = { resourceAttributes: { namespace: 'bosh', verb: 'get', resource: 'pods' } };

/** Valid objects of the kinds for access, quotas and priorities. */
export const policyTemplates: readonly Template[] = [
  { resource: resources.roles, make: (random) => ({ rules: rules(random) }) },
  { resource: resources.clusterRoles, make: (random) => ({ rules: rules(random) }) },
  { resource: resources.roleBindings, make: () => ({ roleRef: roleRef('Role'), subjects }) },
  { resource: resources.clusterRoleBindings, make: () => ({ roleRef: roleRef('ClusterRole'), subjects }) },
  { resource: resources.serviceAccounts, make: () => ({ imagePullSecrets: [{ name: 'n1' }] }) },
  {
    resource: resources.resourceQuotas,
    make: (random) => ({ spec: { hard: { pods: String(5 + random.below(9)), 'requests.cpu': '40' } } }),
  },
  {
    resource: resources.podDisruptionBudgets,
    make: (random) => ({ spec: { minAvailable: random.below(3), selector: { matchLabels: { a: 'b' } } } }),
  },
  {
    resource: resources.priorityClasses,
    make: (random) => ({ value: random.below(1000), description: 'x' }),
  },
  { resource: resources.runtimeClasses, make: () => ({ handler: 'runc' }) },
  {
    resource: resources.leases,
    make: (random) => ({ spec: { holderIdentity: 'n1', leaseDurationSeconds: 1 + random.below(60) } }),
  },
  {
    resource: resources.endpointSlices,
    make: () => ({ addressType: 'IPv4', endpoints: [{ addresses: ['127.64.0.9'] }], ports: [{ port: 80 }] }),
  },
  {
    resource: resources.volumeAttributesClasses,
    make: () => ({ driverName: 'a.b', parameters: { a: 'b' } }),
  },
  {
    resource: resources.networkPolicies,
    make: () => ({ spec: { podSelector: {}, policyTypes: ['Ingress'] } }),
  },
  { resource: review('authorization.k8s.io', 'selfsubjectaccessreviews'), make: () => ({ spec: access }) },
  {
    resource: review('authorization.k8s.io', 'selfsubjectrulesreviews'),
    make: () => ({ spec: { namespace: 'bosh' } }),
  },
];
