import type { Resource } from '../../../kubernetes/api.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  priorityClasses,
  serviceAccounts,
} from '../../../kubernetes/resources.ts';
import { systemPriorities } from '../kinds/priority-classes.ts';
import { defaultAccount } from '../kinds/service-accounts.ts';
import type { PolicyRule } from './policy-rule.ts';
import { authenticatedGroup, mastersGroup } from './user.ts';

const reads = ['get', 'list', 'watch'];
const writes = ['create', 'delete', 'deletecollection', 'patch', 'update'];
const apiGroup = 'rbac.authorization.k8s.io';
const bootstrapLabels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };

const rule = (apiGroups: string, resources: readonly string[], verbs: readonly string[]): PolicyRule => ({
  apiGroups: [apiGroups],
  resources: [...resources],
  verbs: [...verbs],
});

/** What belongs to whoever works in a namespace, as far as this cluster serves it. */
const content = ['configmaps', 'persistentvolumeclaims', 'pods', 'serviceaccounts'];
const view: PolicyRule[] = [
  rule(
    '',
    [...content, 'events', 'namespaces', 'pods/log', 'pods/status', 'resourcequotas', 'services'],
    reads,
  ),
  rule('policy', ['poddisruptionbudgets'], reads),
];
const edit: PolicyRule[] = [
  ...view,
  rule('', ['pods/exec', 'secrets'], reads),
  rule('', [...content, 'pods/eviction', 'pods/exec', 'secrets', 'services'], writes),
  rule('', ['serviceaccounts/token'], ['create']),
  rule('policy', ['poddisruptionbudgets'], writes),
];
const admin: PolicyRule[] = [...edit, rule(apiGroup, ['rolebindings', 'roles'], [...reads, ...writes])];

const discoveryPaths = ['/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/openapi', '/openapi/*'];

/** The roles that a cluster has from its start (kubernetes: rbac/bootstrappolicy/policy.go), for what is served here. */
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

/** Who has them: administrators everything, everybody what kubectl needs to find its way. */
const builtInBindings: ReadonlyMap<string, string> = new Map([
  ['cluster-admin', mastersGroup],
  ['system:basic-user', authenticatedGroup],
  ['system:discovery', authenticatedGroup],
]);

type Made = KubernetesObject & Record<string, unknown>;

/** The objects behind all this: the accounts of the first namespaces, the roles, their bindings, and priorities. */
export function accessObjects(namespaces: readonly string[]): [Resource, Made][] {
  return [
    ...namespaces.map((namespace): [Resource, Made] => [
      serviceAccounts,
      { metadata: { name: defaultAccount, namespace } },
    ]),
    ...[...builtInRoles].map(([name, rules]): [Resource, Made] => [
      clusterRoles,
      { metadata: { name, labels: bootstrapLabels }, rules: [...rules] },
    ]),
    ...[...systemPriorities].map(([name, value]): [Resource, Made] => [
      priorityClasses,
      { metadata: { name }, value, description: 'Used for pods that a cluster cannot do without.' },
    ]),
    ...[...builtInBindings].map(([name, group]): [Resource, Made] => [
      clusterRoleBindings,
      {
        metadata: { name, labels: bootstrapLabels },
        roleRef: { apiGroup, kind: 'ClusterRole', name },
        subjects: [{ apiGroup, kind: 'Group', name: group }],
      },
    ]),
  ];
}
