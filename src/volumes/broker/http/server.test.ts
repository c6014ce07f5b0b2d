import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { test } from 'node:test';
import { RecordCipher } from '../store/record-cipher.ts';
import { SqliteStore } from '../store/sqlite-store.ts';
import { withParameters } from '../testing/request-cases.ts';
import type { CallBroker } from '../testing/test-broker.ts';
import {
  auth,
  bindBody,
  bindingPath,
  instancePath,
  nfs,
  nfsQuery,
  provisionBody,
  smbBindBody,
  smbProvisionBody,
  smbSecret,
  testBroker,
} from '../testing/test-broker.ts';

async function prepare(call: CallBroker, before: 'instance' | 'binding'): Promise<void> {
  assert.equal((await call('PUT', instancePath, { body: provisionBody })).status, 201);
  if (before === 'binding') assert.equal((await call('PUT', bindingPath, { body: bindBody })).status, 201);
}

test('a fetch never returns a secret, and the log and the file contain none', async (t) => {
  const { call, log, directory } = await testBroker(t);
  assert.equal((await call('PUT', instancePath, { body: smbProvisionBody })).status, 201);
  const bound = await call('PUT', bindingPath, { body: smbBindBody });
  assert.equal(bound.status, 201);
  assert.match(bound.text, new RegExp(smbSecret, 'u'));
  assert.deepEqual((await call('PUT', bindingPath, { body: smbBindBody })).body, bound.body);

  const fetched = await call('GET', bindingPath);
  assert.deepEqual(fetched.body['parameters'], { username: 'user' });
  assert.match(fetched.text, /"username":"user"/u);
  const files = await Promise.all(
    ['broker.db', 'broker.db-wal'].map(async (name) => readFile(join(directory, name), 'latin1')),
  );
  for (const text of [fetched.text, log.join(''), ...files]) assert.ok(!text.includes(smbSecret));
  assert.ok(!log.join('').includes(auth.passwords[0] ?? ''));
  const { length } = log;
  assert.ok(length >= 4, 'each request is logged');
});

test('an update affects later bindings only, and a rotated binding gets the options of its predecessor', async (t) => {
  const { call } = await testBroker(t);
  await prepare(call, 'binding');
  const first = await call('PUT', bindingPath, { body: bindBody });
  const changed = withParameters(provisionBody, { share: 'server/other', version: '4.1' });
  assert.equal((await call('PATCH', instancePath, { body: changed })).status, 200);
  assert.deepEqual((await call('PUT', bindingPath, { body: bindBody })).body, first.body);
  const provisioned = await call('PUT', instancePath, { body: provisionBody });
  assert.equal(provisioned.status, 200, 'the first provision is still the same one');

  const rotated = await call('PUT', `${bindingPath}b`, {
    body: { service_id: bindBody.service_id, plan_id: bindBody.plan_id, predecessor_binding_id: 'binding-1' },
    headers: { 'x-broker-api-version': '2.17' },
  });
  assert.equal(rotated.status, 201, rotated.text);
  const [mount] = rotated.body['volume_mounts'] as [{ device: { mount_config: object } }];
  assert.deepEqual(mount.device.mount_config, {
    source: 'nfs://server/other',
    version: '4.1',
    uid: '1000',
    gid: '1000',
  });
});

test('a repeated rotation gets the same response, also when its predecessor is deleted', async (t) => {
  const { call } = await testBroker(t);
  await prepare(call, 'binding');
  const { service_id, plan_id } = bindBody;
  const body = { service_id, plan_id, predecessor_binding_id: 'binding-1' };
  const rotated = await call('PUT', `${bindingPath}b`, { body });
  assert.equal(rotated.status, 201);
  assert.equal((await call('DELETE', `${bindingPath}${nfsQuery}`)).status, 200);
  const again = await call('PUT', `${bindingPath}b`, { body });
  assert.deepEqual([again.status, again.body], [200, rotated.body]);
});

test('the response to a bind has the fields that the drivers and Cloud Controller read', async (t) => {
  const { call } = await testBroker(t, { scheme: 'md5' });
  await prepare(call, 'instance');
  const parameters = { uid: 1000, gid: 1000, readonly: true, mount: '/data/photos' };
  const { body } = await call('PUT', bindingPath, { body: withParameters(bindBody, parameters) });
  assert.deepEqual(body, {
    credentials: {},
    volume_mounts: [
      {
        driver: 'nfsv3driver',
        container_dir: '/data/photos',
        mode: 'r',
        device_type: 'shared',
        device: {
          volume_id: 'instance-1-75a39b85688769b3f9c961f4fb0a0dfb',
          mount_config: {
            source: 'nfs://server/export',
            readonly: 'true',
            mount: '/data/photos',
            uid: '1000',
            gid: '1000',
          },
        },
      },
    ],
  });
});

test('a repeated request gets the same response, also if the operator has forced one of its options since', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'volume-broker-'));
  t.after(() => rm(directory, { recursive: true }));
  const kept = { store: { sqlite: join(directory, 'broker.db') }, encryptionKeys: [Buffer.alloc(32, 1)] };
  const provisioning = withParameters(provisionBody, { share: 'server/export', version: '3' });
  const first = await testBroker(t, kept);
  assert.equal((await first.call('PUT', instancePath, { body: provisioning })).status, 201);
  const bound = await first.call('PUT', bindingPath, { body: bindBody });
  assert.equal(bound.status, 201);

  const operator = { defaults: {}, forced: { version: '4.1', uid: '7', gid: '7' } };
  const { call } = await testBroker(t, { ...kept, offerings: [{ ...nfs, operator }] });
  assert.equal((await call('PUT', instancePath, { body: provisioning })).status, 200);
  const again = await call('PUT', bindingPath, { body: bindBody });
  assert.deepEqual([again.status, again.body], [200, bound.body]);
  const other = withParameters(bindBody, { uid: '8', gid: '8' });
  assert.equal((await call('PUT', bindingPath, { body: other })).status, 409);
  for (const [path, body] of [
    [`${instancePath}-new`, provisioning],
    [`${bindingPath}-new`, bindBody],
  ] as const) {
    const refused = await call('PUT', path, { body });
    assert.equal(refused.status, 400);
    assert.match(String(refused.body['description']), /^- Not allowed options: (version|gid, uid)$/u);
  }
});

test('an operation that a broker with an asynchronous mode did not complete has failed, and can be repeated', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'volume-broker-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'broker.db');
  const key = Buffer.alloc(32, 1);
  const store = new SqliteStore(path, new RecordCipher([key]));
  t.after(() => store.close());
  const { call } = await testBroker(t, { store: { sqlite: path }, encryptionKeys: [key] });
  await prepare(call, 'instance');
  const options = { share: 'server/other' };
  const pending = { id: 'operation-1', state: 'in progress' };
  for (const operation of [
    { ...pending, kind: 'update', options },
    { ...pending, kind: 'provision' },
  ] as const) {
    await store.change({ instanceId: 'instance-1' }, ({ instance }) => {
      assert.ok(instance);
      return { answer: { status: 200, body: {} }, instance: { ...instance, operation } };
    });
    const polled = await call('GET', `${instancePath}/last_operation?operation=operation-1`);
    assert.deepEqual([polled.status, polled.body['state']], [200, 'failed']);
    assert.equal(polled.body['update_repeatable'], operation.kind === 'update' ? true : undefined);
    assert.equal((await call('PUT', instancePath, { body: provisionBody })).status, 200);
  }
  assert.equal(
    (await call('PATCH', instancePath, { body: withParameters(provisionBody, options) })).status,
    200,
  );
  assert.deepEqual((await call('GET', instancePath)).body['parameters'], options);
  assert.equal((await call('GET', `${instancePath}/last_operation`)).body['state'], 'succeeded');
  assert.equal((await call('DELETE', `${instancePath}${nfsQuery}`)).status, 200);
});

test('a share is allowed to its org and space, also if an instance is bound in another space', async (t) => {
  const offerings = [{ ...nfs, allowedShares: [{ share: 'server/export', spaces: ['space-1'] }] }];
  const { call } = await testBroker(t, { offerings });
  const elsewhere = { ...provisionBody, space_guid: 'space-2' };
  for (const body of [elsewhere, withParameters(provisionBody, { share: 'server/other' })]) {
    const refused = await call('PUT', instancePath, { body });
    assert.deepEqual([refused.status, /not allowed to this org and space/u.test(refused.text)], [400, true]);
  }
  await prepare(call, 'instance');
  const moved = withParameters(provisionBody, { share: 'server/other' });
  assert.equal((await call('PATCH', instancePath, { body: moved })).status, 400);
  const shared = { ...bindBody, context: { space_guid: 'space-2' } };
  assert.equal((await call('PUT', bindingPath, { body: shared })).status, 400);
  assert.equal((await call('PUT', bindingPath, { body: bindBody })).status, 201);
});

test('an unreachable file server is refused with preflight "require", and logged with "log"', async (t) => {
  const body = withParameters(provisionBody, { share: 'no-such-host.invalid/export' });
  const strict = await testBroker(t, { preflight: 'require' });
  const refused = await strict.call('PUT', instancePath, { body });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /no-such-host\.invalid cannot be resolved/u);
  const lenient = await testBroker(t, { preflight: 'log' });
  assert.equal((await lenient.call('PUT', instancePath, { body })).status, 201);
  assert.match(lenient.log.join(''), /"level":40.*no-such-host\.invalid cannot be resolved/u);
});

test('a catalog that the platform has is not sent again, and a response has the identity of its request', async (t) => {
  const { call } = await testBroker(t);
  const catalog = await call('GET', '/v2/catalog', { headers: { 'x-broker-api-request-identity': 'req-1' } });
  assert.equal(catalog.headers.get('x-broker-api-request-identity'), 'req-1');
  const etag = catalog.headers.get('etag') ?? '';
  const again = await call('GET', '/v2/catalog', { headers: { 'if-none-match': etag } });
  assert.deepEqual([again.status, again.text], [304, '']);
});

test('the log has the user of each change', async (t) => {
  const { call, log } = await testBroker(t);
  const identity = `cloudfoundry ${btoa(JSON.stringify({ user_id: 'user-7' }))}`;
  await call('PUT', instancePath, {
    body: provisionBody,
    headers: { 'x-broker-api-originating-identity': identity },
  });
  assert.match(log.join(''), /"operation":"PUT [^"]+","path":"[^"]+","status":201.*"user":"user-7"/u);
});

test('input that is not HTTP gets one response', async (t) => {
  const { url } = await testBroker(t);
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.end('no HTTP\r\n\r\n');
  assert.match(await textOf(socket), /^HTTP\/1\.1 400 Bad Request\r\n[^]*"error":"InvalidRequest"/u);
});

test('metrics count requests by operation and status', async (t) => {
  const { call } = await testBroker(t);
  await prepare(call, 'binding');
  const { text } = await call('GET', '/metrics');
  assert.match(
    text,
    /volume_broker_requests_total\{operation="PUT \/v2\/service_instances\/:instanceId",status="201"\} 1/u,
  );
});
