import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pods, roleBindings, serviceAccounts } from '../../src/kubernetes/resources.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { unschedulablePod } from './contract-objects.ts';
import { made, makePolicySubject, type PolicySubject } from './policy-subject.ts';
import { until } from '../support/until.ts';
import { rightsInForce } from '../support/rights-in-force.ts';

/**
 * Tokens of service accounts, and reviews of identity and access (kubernetes:
 * pkg/registry/core/serviceaccount/storage/token.go, pkg/serviceaccount, pkg/registry/authorization,
 * pkg/registry/authentication).
 */
let subject: PolicySubject;
before(async () => {
  subject = await makePolicySubject();
});
after(() => subject.end());

const authentication = '/apis/authentication.k8s.io/v1';
const authorization = '/apis/authorization.k8s.io/v1';

test('a token authenticates its service account, with the groups of service accounts', async () => {
  const { namespace } = subject;
  const who = await subject.as('robot');
  const { status, body } = await who.call('POST', `${authentication}/selfsubjectreviews`, {});
  assert.equal(status, 201);
  const { userInfo } = body['status'] as { userInfo: { username: string; groups: string[]; uid: string } };
  assert.equal(userInfo.username, `system:serviceaccount:${namespace}:robot`);
  assert.deepEqual(
    userInfo.groups.toSorted(),
    ['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${namespace}`].toSorted(),
  );
  const account = await subject.admin.api.get({ resource: serviceAccounts, namespace, name: 'robot' });
  assert.equal(userInfo.uid, account.metadata.uid);
});

test('a token has the requested lifetime and audience, of at least ten minutes', async () => {
  const { admin, namespace } = subject;
  await subject.as('robot');
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/robot/token`;
  const requestedAt = Date.now();
  const { body } = await admin.call('POST', path, { spec: { expirationSeconds: 900, audiences: ['vault'] } });
  const { token, expirationTimestamp } = body['status'] as { token: string; expirationTimestamp: string };
  assert(Math.abs(Date.parse(expirationTimestamp) - requestedAt - 900_000) < 60_000);
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<
    string,
    unknown
  >;
  assert.deepEqual(claims['aud'], ['vault']);
  assert.equal(Number(claims['exp']) - Number(claims['iat']), 900);
  assert.equal(claims['sub'], `system:serviceaccount:${namespace}:robot`);
  await isNobody(token);
  const short = await admin.call('POST', path, { spec: { expirationSeconds: 599 } });
  assert.equal(short.status, 422);
  assert.match(
    String(short.body['message']),
    /spec\.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes/u,
  );
  const absent = await admin.call('POST', path.replace('robot', 'absent'), { spec: {} });
  assert.equal(absent.body['message'], 'serviceaccounts "absent" not found');
});

test('an invalid token, one with another signature and one of a deleted account are 401', async () => {
  const { admin, namespace } = subject;
  await isNobody('garbage');
  await subject.as('short-lived');
  const token = await subject.tokenOf('short-lived');
  const [head, claims, signature = ''] = token.split('.');
  await isNobody(`${head}.${claims}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`);
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  await isNobody(`${none}.${claims}.`);
  await isSomebody(token);
  await admin.api.delete({ resource: serviceAccounts, namespace, name: 'short-lived' });
  await isNobody(token);
  await subject.as('short-lived');
  await isNobody(token);
});

test('a token bound to a pod expires with it', async () => {
  const { admin, namespace } = subject;
  await subject.as('tenant');
  const pod = unschedulablePod(namespace, 'bound');
  pod.spec.serviceAccountName = 'tenant';
  const { metadata } = await admin.api.create<Pod>(pods, pod);
  const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'bound', uid: metadata.uid };
  const token = await subject.tokenOf('tenant', { boundObjectRef });
  await isSomebody(token);
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/tenant/token`;
  const other = { ...boundObjectRef, uid: '00000000-0000-4000-8000-000000000000' };
  assert.equal((await admin.call('POST', path, { spec: { boundObjectRef: other } })).status, 409);
  await subject.as('robot');
  const stranger = await admin.call('POST', path.replace('tenant', 'robot'), { spec: { boundObjectRef } });
  assert.equal(stranger.status, 400);
  await admin.api.delete({ resource: pods, namespace, name: 'bound' }, { gracePeriodSeconds: 0 });
  await isNobody(token);
});

test('SelfSubjectAccessReview and SelfSubjectRulesReview return the permissions of the user', async () => {
  const { admin, namespace } = subject;
  const who = await subject.as('viewer');
  const robot = { kind: 'ServiceAccount', name: 'viewer', namespace };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
  await admin.api.create(roleBindings, made(namespace, 'viewer', { roleRef, subjects: [robot] }));
  await rightsInForce(admin.api, namespace);
  const may = async (verb: string, resource: string, subresource?: string): Promise<unknown> => {
    const resourceAttributes = {
      namespace,
      verb,
      resource,
      ...(subresource === undefined ? {} : { subresource }),
    };
    const { body } = await who.call('POST', `${authorization}/selfsubjectaccessreviews`, {
      spec: { resourceAttributes },
    });
    return (body['status'] as { allowed: boolean }).allowed;
  };
  assert.equal(await may('get', 'pods'), true);
  assert.equal(await may('get', 'pods', 'log'), true);
  assert.equal(await may('delete', 'pods'), false);
  assert.equal(await may('get', 'secrets'), false);
  const resourceAttributes = { namespace, verb: 'list', resource: 'pods' };
  const both = { spec: { resourceAttributes, nonResourceAttributes: { path: '/', verb: 'get' } } };
  assert.equal((await who.call('POST', `${authorization}/selfsubjectaccessreviews`, both)).status, 422);
  const list = await who.call('POST', `${authorization}/selfsubjectrulesreviews`, { spec: { namespace } });
  const { resourceRules, incomplete } = list.body['status'] as {
    resourceRules: { resources: string[] }[];
    incomplete: boolean;
  };
  assert.equal(incomplete, false);
  assert(resourceRules.some(({ resources }) => resources.includes('pods/log')));
});

test('a pod with an account gets its token, the authority and its namespace in every container', async () => {
  const { admin, namespace } = subject;
  await subject.as('tenant');
  const requested = unschedulablePod(namespace, 'mounted');
  requested.spec.serviceAccountName = 'tenant';
  const { spec } = await admin.api.create<Pod>(pods, requested);
  const volume = spec.volumes?.find(({ name }) => name.startsWith('kube-api-access-'));
  const sources = volume?.projected?.sources ?? [];
  assert.deepEqual(
    sources.map((source) => Object.keys(source)[0]),
    ['serviceAccountToken', 'configMap', 'downwardAPI'],
  );
  for (const { volumeMounts = [] } of spec.containers) {
    const mount = volumeMounts.find(({ name }) => name === volume?.name);
    assert.deepEqual(
      [mount?.mountPath, mount?.readOnly],
      ['/var/run/secrets/kubernetes.io/serviceaccount', true],
    );
  }
  const without = unschedulablePod(namespace, 'unmounted');
  without.spec = { ...without.spec, serviceAccountName: 'tenant', automountServiceAccountToken: false };
  assert.equal((await admin.api.create<Pod>(pods, without)).spec.volumes, undefined);
  const nameless = unschedulablePod(namespace, 'nameless');
  const unnamed = { ...nameless.spec, serviceAccountName: 'tenant', volumes: [{ emptyDir: {} }] };
  const refused = await admin.call('POST', `/api/v1/namespaces/${namespace}/pods`, {
    ...nameless,
    spec: unnamed,
  });
  assert.equal(refused.status, 422);
  assert.match(String(refused.body['message']), /spec\.volumes\[0\]\.name: Required value/u);
  const stranger = unschedulablePod(namespace, 'stranger');
  stranger.spec.serviceAccountName = 'absent';
  await assert.rejects(admin.api.create(pods, stranger), (error) => {
    assert(isApiError(error, 403, 'Forbidden'));
    assert.equal(
      error.message,
      `pods "stranger" is forbidden: error looking up service account ${namespace}/absent: serviceaccount "absent" not found`,
    );
    return true;
  });
});

test('a pod that names no account gets the token of the default account, unless it opts out', async () => {
  const { admin, namespace } = subject;
  const volumesOf = async (name: string, changes: Partial<Pod['spec']>): Promise<unknown> => {
    const pod = unschedulablePod(namespace, name);
    const { spec } = await admin.api.create<Pod>(pods, { ...pod, spec: { ...pod.spec, ...changes } });
    return spec.volumes?.map((volume) => volume.name.replace(/-[^-]+$/u, ''));
  };
  // a real server rejects pods until its controller has created the account
  await until('the default account', async () => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
    return (await admin.call('GET', path)).status === 200 ? true : undefined;
  });
  assert.deepEqual(await volumesOf('of-default', {}), ['kube-api-access']);
  assert.equal(await volumesOf('of-default-without', { automountServiceAccountToken: false }), undefined);
});

/** Requests a SelfSubjectReview, which every account may do; returns the status. */
async function identify(token: string): Promise<number> {
  const who = await subject.bearer(token);
  const { status, body } = await who.call('POST', `${authentication}/selfsubjectreviews`, {});
  if (status === 401) assert.equal(body['reason'], 'Unauthorized');
  return status;
}

/** Waits until the token is rejected: a real server caches for seconds that a token was valid. */
async function isNobody(token: string): Promise<void> {
  await until('401', async () => ((await identify(token)) === 401 ? true : undefined));
}

const isSomebody = async (token: string): Promise<void> => assert.equal(await identify(token), 201);
