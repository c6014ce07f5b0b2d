import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roleBindings, roles, serviceAccounts } from '../../../src/kubernetes/resources.ts';
import { startTestServer } from '../testing/test-server.ts';

const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const userOf = (name: string): string => `system:serviceaccount:bosh:${name}`;

/** Follows apiserver pkg/endpoints/filters/impersonation. */
test('impersonation needs the verb impersonate on the user, group or account', async (t) => {
  const server = await startTestServer(t);
  const { api } = server;
  for (const name of ['actor', 'double'])
    await api.create(serviceAccounts, { metadata: { namespace: 'bosh', name } });
  const rules = [
    { apiGroups: [''], resources: ['serviceaccounts'], resourceNames: ['double'], verbs: ['impersonate'] },
  ];
  const metadata = { namespace: 'bosh', name: 'actor' };
  await api.create(roles, { metadata, ...{ rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'actor' };
  await api.create(roleBindings, {
    metadata,
    ...{ roleRef, subjects: [{ kind: 'ServiceAccount', name: 'actor' }] },
  });
  const { status } = await api.requestToken('bosh', 'actor', { spec: {} });
  const whoami = async (headers: Readonly<Record<string, string>>, isAdmin = false): Promise<unknown[]> => {
    const own = isAdmin ? {} : { authorization: `Bearer ${status.token}` };
    const answer = await server.call(review, {
      method: 'POST',
      body: {},
      anonymous: !isAdmin,
      headers: { ...own, ...headers },
    });
    const body = answer.json() as {
      message?: string;
      status: { userInfo?: { username: string; groups: string[] } };
    };
    const { username, groups } = body.status.userInfo ?? {};
    return answer.code === 201 ? [username, groups] : [answer.code, body.message];
  };

  const ofAccounts = ['system:serviceaccounts', 'system:serviceaccounts:bosh', 'system:authenticated'];
  assert.deepEqual(await whoami({}), [userOf('actor'), ofAccounts]);
  assert.deepEqual(await whoami({ 'impersonate-user': userOf('double') }), [userOf('double'), ofAccounts]);
  assert.deepEqual(await whoami({ 'impersonate-user': 'admin' }), [
    403,
    `users "admin" is forbidden: User "${userOf('actor')}" cannot impersonate resource "users" in API group "" at the cluster scope`,
  ]);
  const asMaster = { 'impersonate-user': userOf('double'), 'impersonate-group': 'system:masters' };
  assert.equal((await whoami(asMaster))[0], 403);
  assert.deepEqual(await whoami({ 'impersonate-user': 'jane', 'impersonate-group': 'devs' }, true), [
    'jane',
    ['devs', 'system:authenticated'],
  ]);
  assert.equal((await whoami({ 'impersonate-group': 'devs' }, true))[0], 400);
  assert.equal((await whoami({ 'impersonate-user': 'jane', 'impersonate-other': '1' }, true))[0], 400);
  assert.equal((await whoami({ 'impersonate-uid': '1' }, true))[0], 400);

  const whole = {
    'impersonate-user': userOf('double'),
    'impersonate-uid': 'u-1',
    'impersonate-extra-example.com%2ftongue': 'python',
    'impersonate-extra-100%': 'odd',
  };
  const answer = await server.call(review, { method: 'POST', body: {}, headers: whole });
  const { userInfo } = (answer.json() as { status: { userInfo: Record<string, unknown> } }).status;
  assert.equal(userInfo['uid'], 'u-1');
  assert.deepEqual(userInfo['extra'], { 'example.com/tongue': ['python'], '100%': ['odd'] });
  const refusals = ['impersonate-uid', 'impersonate-extra-example.com%2ftongue'] as const;
  for (const header of refusals) {
    const requested = { 'impersonate-user': userOf('double'), [header]: whole[header] };
    const [code, message] = await whoami(requested);
    assert.equal(code, 403);
    assert.match(String(message), /^(uids|userextras)\.authentication\.k8s\.io .* is forbidden/u);
  }
});
