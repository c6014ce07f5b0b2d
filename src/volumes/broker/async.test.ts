import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { newPair } from '../signature/testing/new-pair.ts';
import { until } from '../../../test/support/until.ts';
import { smbOffering } from './offerings/smb.ts';
import type { CallBroker, Reply } from './testing/test-broker.ts';
import {
  bindBody,
  bindingPath,
  instancePath,
  nfs,
  nfsPlan,
  nfsQuery,
  provisionBody,
  smb,
  smbBindBody,
  smbProvisionBody,
  testBroker,
} from './testing/test-broker.ts';

const accepts = '?accepts_incomplete=true';

/** Polls as a platform does, until the operation has ended. */
async function poll(call: CallBroker, path: string, started: Reply): Promise<Reply> {
  assert.equal(started.status, 202, started.text);
  const operation = started.body['operation'];
  assert.ok(typeof operation === 'string' && operation.length > 0 && operation.length <= 10_000);
  assert.deepEqual(Object.keys(started.body), ['operation']);
  const query = `?operation=${encodeURIComponent(operation)}&service_id=${nfs.id}&plan_id=${nfs.plan.id}`;
  let last: Reply | undefined;
  await until('the end of the operation', async () => {
    last = await call('GET', `${path}/last_operation${query}`);
    return last.body['state'] !== 'in progress';
  });
  assert.ok(last);
  return last;
}

test('a life by polling: every change is a 202, and a fetch has what a bind answers', async (t) => {
  const { call } = await testBroker(t, { isAsync: true });
  const succeeded = async (path: string, started: Reply): Promise<void> => {
    const { status, body } = await poll(call, path, started);
    assert.deepEqual([status, body], [200, { state: 'succeeded' }]);
  };
  await succeeded(instancePath, await call('PUT', `${instancePath}${accepts}`, { body: provisionBody }));
  assert.equal((await call('PUT', `${instancePath}${accepts}`, { body: provisionBody })).status, 200);
  const patch = { ...nfsPlan, parameters: { version: '4.1' } };
  await succeeded(instancePath, await call('PATCH', `${instancePath}${accepts}`, { body: patch }));
  await succeeded(bindingPath, await call('PUT', `${bindingPath}${accepts}`, { body: bindBody }));
  const fetched = await call('GET', bindingPath);
  const again = await call('PUT', `${bindingPath}${accepts}`, { body: bindBody });
  assert.equal(again.status, 200, again.text);
  assert.deepEqual(fetched.body['volume_mounts'], again.body['volume_mounts']);
  assert.match(again.text, /"version":"4.1"/u);
  for (const path of [bindingPath, instancePath]) {
    const gone = await poll(call, path, await call('DELETE', `${path}${nfsQuery}`));
    assert.deepEqual([gone.status, gone.body], [410, {}]);
    assert.equal((await call('DELETE', `${path}${nfsQuery}`)).status, 410);
    assert.equal((await call('GET', `${path}/last_operation`)).status, 404);
  }
});

test('who does not accept it, and who has not set it, gets answers at once; so do refusals', async (t) => {
  const { call } = await testBroker(t, { isAsync: true });
  assert.equal((await call('PUT', instancePath, { body: provisionBody })).status, 201);
  assert.equal((await call('PUT', bindingPath, { body: bindBody })).status, 201);
  const wrong = { ...bindBody, parameters: { uid: 'x' } };
  assert.equal((await call('PUT', `${bindingPath}-2${accepts}`, { body: wrong })).status, 400);
  assert.equal((await call('DELETE', `${instancePath}${nfsQuery}`)).status, 400);
  const other = { ...provisionBody, space_guid: 'space-2' };
  assert.equal((await call('PUT', `${instancePath}${accepts}`, { body: other })).status, 409);
  const off = await testBroker(t);
  assert.equal((await off.call('PUT', `${instancePath}${accepts}`, { body: provisionBody })).status, 201);
});

test('a password is answered at once, as no fetch may show it; its name is fetched', async (t) => {
  const secrets = { store: 'credhub', name: '/volumes' } as const;
  const byName = smbOffering({ operator: smb.operator, secrets });
  const scheme = { signingKey: newPair().key };
  const { call } = await testBroker(t, { isAsync: true, offerings: [byName], scheme });
  await call('PUT', instancePath, { body: smbProvisionBody });
  assert.equal((await call('PUT', `${bindingPath}${accepts}`, { body: smbBindBody })).status, 201);
  const named = { ...smbBindBody, parameters: { username: 'user', password_ref: 'photos' } };
  await poll(call, `${bindingPath}-2`, await call('PUT', `${bindingPath}-2${accepts}`, { body: named }));
  assert.match((await call('GET', `${bindingPath}-2`)).text, /\(\(credhub:\/volumes\/space-1\/photos\)\)/u);
  assert.doesNotMatch((await call('GET', bindingPath)).text, /"password"/u);
});

/** Starts a broker whose share checks end when the test calls `answer`, in order. */
async function checkingBroker(
  t: TestContext,
): Promise<{ call: CallBroker; answer: (trouble?: string) => void; asked: string[] }> {
  const asked: string[] = [];
  const waiting: ((trouble?: string) => void)[] = [];
  t.after(() => {
    for (const resolve of waiting) resolve();
  });
  const { call } = await testBroker(t, { isAsync: true, preflight: 'require' }, async (_protocol, share) => {
    asked.push(share);
    return new Promise((resolve) => {
      waiting.push(resolve);
    });
  });
  const answer = (trouble?: string): void => {
    const resolve = waiting.shift();
    assert.ok(resolve, 'no server was asked');
    resolve(trouble);
  };
  return { call, asked, answer };
}

test('while its share is asked for an instance is not there, and all but its deletion waits', async (t) => {
  const { call, answer, asked } = await checkingBroker(t);
  const put = (): Promise<Reply> => call('PUT', `${instancePath}${accepts}`, { body: provisionBody });
  const started = await put();
  const { status, body } = await put();
  assert.deepEqual([status, body], [202, started.body]);
  const state = await call('GET', `${instancePath}/last_operation`);
  assert.deepEqual([state.status, state.body], [200, { state: 'in progress' }]);
  assert.equal((await call('GET', instancePath)).status, 404);
  const other = { ...provisionBody, space_guid: 'space-2' };
  for (const reply of [
    await call('PUT', `${instancePath}${accepts}`, { body: other }),
    await call('PATCH', instancePath, { body: { ...nfsPlan, parameters: {} } }),
    await call('PUT', bindingPath, { body: bindBody }),
  ])
    assert.deepEqual([reply.status, reply.body['error']], [422, 'ConcurrencyError'], reply.text);
  assert.deepEqual(asked, ['server/export']);
  answer();
  assert.deepEqual((await poll(call, instancePath, started)).body, { state: 'succeeded' });
  assert.equal((await call('PUT', bindingPath, { body: bindBody })).status, 201);
});

test('a create whose server does not answer fails, leaves nothing, and can be tried again', async (t) => {
  const { call, answer } = await checkingBroker(t);
  const started = await call('PUT', `${instancePath}${accepts}`, { body: provisionBody });
  answer('server refuses connections');
  const failed = await poll(call, instancePath, started);
  assert.deepEqual(
    [failed.status, failed.body],
    [200, { state: 'failed', description: 'the share cannot be used: server refuses connections' }],
  );
  assert.equal((await call('GET', instancePath)).status, 404);
  assert.equal((await call('PUT', bindingPath, { body: bindBody })).status, 404);
  const again = await call('PUT', `${instancePath}${accepts}`, { body: provisionBody });
  assert.notDeepEqual(again.body, started.body);
  answer();
  await poll(call, instancePath, again);
  assert.equal((await call('GET', instancePath)).status, 200);
});

test('an operation whose instance is deleted meanwhile changes neither that nor another one', async (t) => {
  const { call, answer } = await checkingBroker(t);
  await call('PUT', `${instancePath}${accepts}`, { body: provisionBody });
  const deleted = await poll(call, instancePath, await call('DELETE', `${instancePath}${nfsQuery}`));
  assert.equal(deleted.status, 410);
  const other = await call('PUT', `${instancePath}${accepts}`, {
    body: { ...provisionBody, space_guid: 'space-2' },
  });
  answer('the first one is away');
  answer();
  assert.deepEqual((await poll(call, instancePath, other)).body, { state: 'succeeded' });
});

test('an update that fails leaves the instance as it was, and usable', async (t) => {
  const { call, answer } = await checkingBroker(t);
  const started = await call('PUT', `${instancePath}${accepts}`, { body: provisionBody });
  answer();
  await poll(call, instancePath, started);
  const bound = await call('PUT', bindingPath, { body: bindBody });
  const patch = { ...nfsPlan, parameters: { share: 'other/export' } };
  const update = await call('PATCH', `${instancePath}${accepts}`, { body: patch });
  const busy = await call('GET', instancePath);
  assert.deepEqual([busy.status, busy.body['error']], [422, 'ConcurrencyError']);
  const again = await call('PUT', bindingPath, { body: bindBody });
  assert.deepEqual([again.status, again.body], [200, bound.body]);
  assert.equal((await call('PUT', `${bindingPath}-2`, { body: bindBody })).status, 422);
  answer('other is away');
  assert.deepEqual((await poll(call, instancePath, update)).body, {
    state: 'failed',
    description: 'the share cannot be used: other is away',
    instance_usable: true,
    update_repeatable: true,
  });
  assert.deepEqual((await call('GET', instancePath)).body['parameters'], { share: 'server/export' });
  assert.equal((await call('PUT', `${bindingPath}-2`, { body: bindBody })).status, 201);
  const retried = await call('PATCH', `${instancePath}${accepts}`, { body: patch });
  answer();
  assert.deepEqual((await poll(call, instancePath, retried)).body, { state: 'succeeded' });
  assert.deepEqual((await call('GET', instancePath)).body['parameters'], { share: 'other/export' });
});
