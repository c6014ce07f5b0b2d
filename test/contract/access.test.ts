import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  pods,
  roleBindings,
  roles,
  secrets,
  serviceAccounts,
} from '../../src/kubernetes/resources.ts';
import { configMap, unschedulablePod } from './contract-objects.ts';
import { made, makePolicySubject, type PolicySubject, type TestUser } from './policy-subject.ts';
import { until } from '../support/until.ts';
import { rightsInForce } from '../support/rights-in-force.ts';

/**
 * Authorization: RBAC, service accounts and their tokens (kubernetes: plugin/pkg/auth/authorizer/rbac,
 * pkg/registry/rbac, apiserver pkg/endpoints/request/requestinfo.go and responsewriters/errors.go).
 */
let subject: PolicySubject;
before(async () => {
  subject = await makePolicySubject();
});
after(() => subject.end());

const rbac = 'rbac.authorization.k8s.io';
const userOf = (account: string): string => `system:serviceaccount:${subject.namespace}:${account}`;
const path = (rest: string): string => `/api/v1/namespaces/${subject.namespace}/${rest}`;

/** Creates a service account with a Role of these rules. */
async function grantedUser(account: string, rules: readonly object[]): Promise<TestUser> {
  const { admin, namespace } = subject;
  await admin.api.create(roles, made(namespace, account, { rules }));
  await admin.api.create(roleBindings, binding(account, { kind: 'Role', name: account }));
  await rightsInForce(admin.api, namespace);
  return subject.as(account);
}

function binding(name: string, role: object, subjects?: object[]): ReturnType<typeof made> {
  return made(subject.namespace, name, {
    roleRef: { apiGroup: rbac, ...role },
    subjects: subjects ?? [{ kind: 'ServiceAccount', name, namespace: subject.namespace }],
  });
}

const forbidden = (message: string) => (error: unknown) => {
  assert(isApiError(error, 403, 'Forbidden'), String(error));
  assert.equal(error.message, message);
  return true;
};

test('a request that no role allows is 403, with user, verb, resource, group and scope', async () => {
  const { namespace } = subject;
  const nobody = await subject.as('nobody');
  const start = `User "${userOf('nobody')}" cannot`;
  await assert.rejects(
    nobody.api.create(pods, unschedulablePod(namespace, 'p')),
    forbidden(
      `pods is forbidden: ${start} create resource "pods" in API group "" in the namespace "${namespace}"`,
    ),
  );
  await assert.rejects(
    nobody.api.get({ resource: roles, namespace, name: 'r' }),
    forbidden(
      `roles.${rbac} "r" is forbidden: ${start} get resource "roles" in API group "${rbac}" in the namespace "${namespace}"`,
    ),
  );
  const { status, body } = await nobody.call('GET', '/api/v1/nodes/n');
  assert.equal(status, 403);
  assert.deepEqual(body, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `nodes "n" is forbidden: ${start} get resource "nodes" in API group "" at the cluster scope`,
    reason: 'Forbidden',
    details: { name: 'n', kind: 'nodes' },
    code: 403,
  });
  const log = await nobody.call('GET', path('pods/p/log'));
  assert.equal(
    log.body['message'],
    `pods "p" is forbidden: ${start} get resource "pods/log" in API group "" in the namespace "${namespace}"`,
  );
});

test('unauthorized users get 403 before 404; discovery is open to all users', async () => {
  const nobody = await subject.as('nobody');
  const unknown = await nobody.call('GET', '/apis/no.such.group/v1/things');
  assert.equal(unknown.status, 403);
  const metrics = await nobody.call('GET', '/metrics');
  assert.equal(metrics.body['message'], `forbidden: User "${userOf('nobody')}" cannot get path "/metrics"`);
  for (const open of ['/api', '/api/v1', '/apis', `/apis/${rbac}/v1`, '/version'])
    assert.equal((await nobody.call('GET', open)).status, 200, open);
});

test('each verb needs its own permission', async () => {
  const { namespace, admin } = subject;
  await admin.api.create(configMaps, configMap(namespace, 'verbs', { labels: { verbs: 'yes' } }));
  const query = '?labelSelector=verbs%3Dyes';
  const attempts: Readonly<Record<string, (who: TestUser) => Promise<{ status: number }>>> = {
    get: (who) => who.call('GET', path('configmaps/verbs')),
    list: (who) => who.call('GET', path(`configmaps${query}`)),
    watch: (who) =>
      who
        .call('GET', path(`configmaps${query}&watch=true&timeoutSeconds=1&resourceVersion=0`))
        .catch(streamed),
    create: (who) => who.call('POST', path('configmaps?dryRun=All'), configMap(namespace, 'new')),
    update: (who) =>
      who.call('PUT', path('configmaps/verbs'), configMap(namespace, 'verbs', { labels: { verbs: 'yes' } })),
    patch: (who) => who.call('PATCH', path('configmaps/verbs'), { data: { a: 'b' } }),
    delete: (who) => who.call('DELETE', path('configmaps/verbs?dryRun=All')),
    deletecollection: (who) => who.call('DELETE', path(`configmaps${query}&dryRun=All`)),
  };
  for (const verb of Object.keys(attempts)) {
    const who = await grantedUser(`only-${verb}`, [
      { apiGroups: [''], resources: ['configmaps'], verbs: [verb] },
    ]);
    const allowed: string[] = [];
    for (const [other, attempt] of Object.entries(attempts))
      if ((await attempt(who)).status !== 403) allowed.push(other);
    assert.deepEqual(allowed, [verb]);
  }

  /**
   * Handles a watch response: events are lines, not one document. A SyntaxError shows that there are some, so
   * the watch was allowed.
   */
  function streamed(error: unknown): { status: number } {
    if (error instanceof SyntaxError) return { status: 200 };
    throw error;
  }
});

test('resourceNames allow one object, also through a field selector on its name', async () => {
  const { namespace, admin } = subject;
  await admin.api.create(secrets, made(namespace, 'named', {}));
  const rule = { apiGroups: [''], resources: ['secrets'], resourceNames: ['named'], verbs: ['get', 'list'] };
  const who = await grantedUser('by-name', [rule]);
  await who.api.get({ resource: secrets, namespace, name: 'named' });
  const { items } = await who.api.list(secrets, { namespace, fieldSelector: 'metadata.name=named' });
  assert.equal(items.length, 1);
  await assert.rejects(who.api.list(secrets, { namespace }), (error) => isApiError(error, 403));
  await assert.rejects(who.api.get({ resource: secrets, namespace, name: 'other' }), (error) =>
    isApiError(error, 403),
  );
});

test('permission for an object does not include its subresources', async () => {
  const { namespace, admin } = subject;
  await admin.api.create(pods, unschedulablePod(namespace, 'halves'));
  const main = await grantedUser('main-only', [{ apiGroups: [''], resources: ['pods'], verbs: ['*'] }]);
  const status = await grantedUser('status-only', [
    { apiGroups: [''], resources: ['*/status'], verbs: ['patch'] },
  ]);
  const patch = { metadata: { labels: { a: 'b' } } };
  assert.equal((await main.call('PATCH', path('pods/halves'), patch)).status, 200);
  assert.equal((await main.call('PATCH', path('pods/halves/status'), patch)).status, 403);
  assert.equal((await status.call('PATCH', path('pods/halves/status'), patch)).status, 200);
  assert.equal((await status.call('PATCH', path('pods/halves'), patch)).status, 403);
  for (const part of ['exec', 'eviction', 'binding'])
    assert.equal((await main.call('POST', path(`pods/halves/${part}`), {})).status, 403, part);
});

test('a ClusterRole bound in a namespace is valid there only, and groups of service accounts are subjects', async () => {
  const { namespace, admin } = subject;
  const name = `${namespace}-reader`;
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
  await admin.api.create(clusterRoles, made(undefined, name, { rules }));
  const group = { kind: 'Group', apiGroup: rbac, name: `system:serviceaccounts:${namespace}` };
  await admin.api.create(roleBindings, binding('by-group', { kind: 'ClusterRole', name }, [group]));
  await rightsInForce(admin.api, namespace);
  const who = await subject.as('grouped');
  await who.api.list(configMaps, { namespace });
  await assert.rejects(who.api.list(configMaps, { namespace: 'default' }), (error) => isApiError(error, 403));
  await assert.rejects(who.api.list(configMaps), (error) => isApiError(error, 403));
  await admin.api.delete({ resource: roleBindings, namespace, name: 'by-group' });
  await admin.api.delete({ resource: clusterRoles, name });
  await rightsInForce(admin.api, namespace);
  await assert.rejects(who.api.list(configMaps, { namespace }), (error) => isApiError(error, 403));
});

test('a role with permissions that its author lacks is refused, unless the author may escalate or bind', async () => {
  const { namespace, admin } = subject;
  const rbacRule = { apiGroups: [rbac], resources: ['roles', 'rolebindings'], verbs: ['create', 'update'] };
  const readPods = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };
  const who = await grantedUser('clerk', [rbacRule, readPods]);
  await who.api.create(roles, made(namespace, 'lesser', { rules: [readPods] }));
  const more = { apiGroups: [''], resources: ['pods', 'secrets'], verbs: ['get', 'list'] };
  await assert.rejects(who.api.create(roles, made(namespace, 'greater', { rules: [more] })), (error) => {
    assert(isApiError(error, 403, 'Forbidden'));
    assert.match(
      error.message,
      /^roles\.rbac\.authorization\.k8s\.io "greater" is forbidden: user "\S+" \(groups=\["system:serviceaccounts" .*\]\) is attempting to grant RBAC permissions not currently held:\n/u,
    );
    const missing = error.message.split('\n').slice(1);
    assert.deepEqual(missing, [
      '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
    ]);
    return true;
  });
  await admin.api.create(roles, made(namespace, 'greater', { rules: [more] }));
  await rightsInForce(admin.api, namespace);
  const bindGreater = binding('raise', { kind: 'Role', name: 'greater' });
  await assert.rejects(who.api.create(roleBindings, bindGreater), (error) => isApiError(error, 403));
  const mayBind = { apiGroups: [rbac], resources: ['roles'], resourceNames: ['greater'], verbs: ['bind'] };
  await admin.api.create(roles, made(namespace, 'binder', { rules: [mayBind] }));
  const clerk = [{ kind: 'ServiceAccount', name: 'clerk', namespace }];
  await admin.api.create(roleBindings, binding('binder', { kind: 'Role', name: 'binder' }, clerk));
  await rightsInForce(admin.api, namespace);
  await who.api.create(roleBindings, bindGreater);
});

test('roles and bindings are validated, and the roleRef of a binding cannot change', async () => {
  const { namespace, admin } = subject;
  const refused = async (
    kind: typeof roles,
    object: ReturnType<typeof made>,
    fields: string[],
  ): Promise<void> => {
    await assert.rejects(admin.api.create(kind, object), (error) => {
      assert(isApiError(error, 422, 'Invalid'), String(error));
      const causes = error.status.details?.causes?.map(({ field = '' }) => field);
      assert.deepEqual([...new Set(causes)].toSorted(), fields);
      return true;
    });
  };
  await refused(roles, made(namespace, 'bad', { rules: [{}] }), [
    'rules[0].apiGroups',
    'rules[0].resources',
    'rules[0].verbs',
  ]);
  await refused(roles, made(namespace, 'bad', { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] }), [
    'rules[0].nonResourceURLs',
  ]);
  await refused(
    roleBindings,
    made(namespace, 'bad', { roleRef: { apiGroup: rbac, kind: 'User', name: '' } }),
    ['roleRef.kind', 'roleRef.name'],
  );
  await refused(
    clusterRoleBindings,
    made(undefined, 'bad', {
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
      subjects: [
        { kind: 'ServiceAccount', name: 'x' },
        { kind: 'Robot', name: 'y' },
      ],
    }),
    ['subjects[0].namespace', 'subjects[1].kind'],
  );
  const first = await admin.api.create(roleBindings, binding('fixed', { kind: 'ClusterRole', name: 'view' }));
  await assert.rejects(
    admin.api.replace(roleBindings, {
      ...first,
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'edit' },
    }),
    (error) => isApiError(error, 422) && error.message.includes('cannot change roleRef'),
  );
});

test('each namespace has its account default, also after a deletion', async () => {
  const { namespace, admin } = subject;
  const reference = { resource: serviceAccounts, namespace, name: 'default' };
  const found = async (): Promise<string | undefined> =>
    (await admin.api.list(serviceAccounts, { namespace, fieldSelector: 'metadata.name=default' })).items[0]
      ?.metadata.uid;
  const first = await until('the account default', found);
  await admin.api.delete(reference);
  await until('the next account default', async () => {
    const uid = await found();
    return uid === first ? undefined : uid;
  });
});
