import type { Resource } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  priorityClasses,
  serviceAccounts,
} from '../../../src/kubernetes/resources.ts';
import { systemPriorities } from '../kinds/priority-classes.ts';
import { defaultAccount } from '../kinds/service-accounts.ts';
import type { PolicyRule } from './policy-rule.ts';
import { authenticatedGroup, mastersGroup } from './user.ts';

const readVerbs = ['get', 'list', 'watch'];
const writeVerbs = ['create', 'delete', 'deletecollection', 'patch', 'update'];
const apiGroup = 'rbac.authorization.k8s.io';
const bootstrapLabels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };

const rule = (apiGroups: string, resources: readonly string[], verbs: readonly string[]): PolicyRule => ({
  apiGroups: [apiGroups],
  resources: [...resources],
  verbs: [...verbs],
});

/** Namespaced resources granted by `view`, `edit` and `admin`, limited to the kinds served here. */
const namespacedResources = ['configmaps', 'persistentvolumeclaims', 'pods', 'serviceaccounts'];
const view: PolicyRule[] = [
  rule(
    '',
    [...namespacedResources, 'events', 'namespaces', 'pods/log', 'pods/status', 'resourcequotas', 'services'],
    readVerbs,
  ),
  rule('policy', ['poddisruptionbudgets'], readVerbs),
];
const edit: PolicyRule[] = [
  ...view,
  rule('', ['pods/exec', 'secrets'], readVerbs),
  rule('', [...namespacedResources, 'pods/eviction', 'pods/exec', 'secrets', 'services'], writeVerbs),
  rule('', ['serviceaccounts/token'], ['create']),
  rule('policy', ['poddisruptionbudgets'], writeVerbs),
];
const admin: PolicyRule[] = [
  ...edit,
  rule(apiGroup, ['rolebindings', 'roles'], [...readVerbs, ...writeVerbs]),
];

const discoveryPaths = ['/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/openapi', '/openapi/*'];

/**
 * The roles that a cluster has from its start (kubernetes: rbac/bootstrappolicy/policy.go), limited to the
 * resources served here.
 */
const builtInRoles: ReadonlyMap<string, readonly PolicyRule[]> = new Map<string, readonly PolicyRule[]>([
  ['cluster-admin', [rule('*', ['*'], ['*']), { nonResourceURLs: ['*'], verbs: ['*'] }]],
  ['admin', admin],
  ['edit', edit],
  ['view', view],
  [
    'system:basic-user',
    [
      rule('authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'], ['create']),
      rule('authentication.k8s.io', ['selfsubjectreviews'], ['create']),
    ],
  ],
  [
    'system:discovery',
    [{ nonResourceURLs: [...discoveryPaths, '/readyz', '/version', '/version/'], verbs: ['get'] }],
  ],
]);

/** Default bindings: cluster-admin for system:masters; discovery for all authenticated users. */
const builtInBindings: ReadonlyMap<string, string> = new Map([
  ['cluster-admin', mastersGroup],
  ['system:basic-user', authenticatedGroup],
  ['system:discovery', authenticatedGroup],
]);

type BootstrapObject = KubernetesObject & Record<string, unknown>;

/**
 * Returns the initial objects of a cluster: default service accounts, roles, bindings and priority classes.
 */
export function bootstrapObjects(namespaces: readonly string[]): [Resource, BootstrapObject][] {
  return [
    ...namespaces.map((namespace): [Resource, BootstrapObject] => [
      serviceAccounts,
      { metadata: { name: defaultAccount, namespace } },
    ]),
    ...[...builtInRoles].map(([name, rules]): [Resource, BootstrapObject] => [
      clusterRoles,
      { metadata: { name, labels: bootstrapLabels }, rules: [...rules] },
    ]),
    ...[...systemPriorities].map(([name, value]): [Resource, BootstrapObject] => [
      priorityClasses,
      { metadata: { name }, value, description: 'Used for pods that a cluster cannot do without.' },
    ]),
    ...[...builtInBindings].map(([name, group]): [Resource, BootstrapObject] => [
      clusterRoleBindings,
      {
        metadata: { name, labels: bootstrapLabels },
        roleRef: { apiGroup, kind: 'ClusterRole', name },
        subjects: [{ apiGroup, kind: 'Group', name: group }],
      },
    ]),
  ];
}
