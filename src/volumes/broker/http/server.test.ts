import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Call, CallBroker, Reply } from '../testing/test-broker.ts';
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
  smbQuery,
  smbSecret,
  testBroker,
} from '../testing/test-broker.ts';

/** What is there before a case: nothing, an instance, or an instance with a binding. */
type Before = 'nothing' | 'instance' | 'binding';

async function prepare(call: CallBroker, before: Before): Promise<void> {
  if (before === 'nothing') return;
  assert.equal((await call('PUT', instancePath, { body: provisionBody })).status, 201);
  if (before === 'binding') assert.equal((await call('PUT', bindingPath, { body: bindBody })).status, 201);
}

interface Case {
  readonly title: string;
  readonly before?: Before;
  readonly request: readonly [method: string, path: string, call?: Call];
  readonly status: number;
  readonly error?: string;
  readonly says?: RegExp;
}

const without = (body: object, ...names: string[]): object =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
const withParameters = (body: object, parameters: unknown): object => ({ ...body, parameters });

/**
 * The statuses of OSBAPI 2.17 (reference volume-services.md 1.2), and the requests that the old brokers
 * failed (2.7).
 */
const cases: readonly Case[] = [
  { title: 'provision', request: ['PUT', instancePath, { body: provisionBody }], status: 201 },
  {
    title: 'provision, where the platform would wait for it: it is done at once all the same',
    request: ['PUT', `${instancePath}?accepts_incomplete=true`, { body: provisionBody }],
    status: 201,
  },
  {
    title: 'the same provision again',
    before: 'instance',
    request: ['PUT', instancePath, { body: { ...provisionBody, context: { other: 1 } } }],
    status: 200,
  },
  {
    title: 'the same share in another form',
    before: 'instance',
    request: ['PUT', instancePath, { body: withParameters(provisionBody, { share: 'server:/export' }) }],
    status: 200,
  },
  {
    title: 'provision with other parameters',
    before: 'instance',
    request: ['PUT', instancePath, { body: withParameters(provisionBody, { share: 'server/other' }) }],
    status: 409,
    error: 'Conflict',
  },
  {
    title: 'provision in another space',
    before: 'instance',
    request: ['PUT', instancePath, { body: { ...provisionBody, space_guid: 'space-2' } }],
    status: 409,
  },
  ...['service_id', 'plan_id', 'organization_guid', 'space_guid'].map((name): Case => ({
    title: `provision without ${name}`,
    request: ['PUT', instancePath, { body: without(provisionBody, name) }],
    status: 400,
    says: new RegExp(`^${name} is missing$`, 'u'),
  })),
  {
    title: 'provision of an unknown service and plan',
    request: ['PUT', instancePath, { body: { ...provisionBody, service_id: 'x', plan_id: 'y' } }],
    status: 400,
    says: /^service_id is none of the catalog$/u,
  },
  {
    title: "provision of another service's plan",
    request: ['PUT', instancePath, { body: { ...provisionBody, plan_id: 'y' } }],
    status: 400,
    says: /plan_id is none of service nfs/u,
  },
  {
    title: 'provision without parameters',
    request: ['PUT', instancePath, { body: without(provisionBody, 'parameters') }],
    status: 400,
    says: /^- Missing mandatory options: share$/u,
  },
  {
    title: 'provision with parameters that are no object',
    request: ['PUT', instancePath, { body: withParameters(provisionBody, 'share') }],
    status: 400,
    says: /^parameters must be an object of names and values$/u,
  },
  {
    title: 'provision with source',
    request: ['PUT', instancePath, { body: withParameters(provisionBody, { share: 'a/b', source: 'c/d' }) }],
    status: 400,
    says: /^- Not allowed options: source$/u,
  },
  {
    title: 'provision for another version of the plan',
    request: ['PUT', instancePath, { body: { ...provisionBody, maintenance_info: { version: '1.3.0' } } }],
    status: 422,
    error: 'MaintenanceInfoConflict',
  },
  {
    title: 'provision for the version of the catalog',
    request: ['PUT', instancePath, { body: { ...provisionBody, maintenance_info: { version: '1.2.0' } } }],
    status: 201,
  },
  { title: 'a body that is no JSON', request: ['PUT', instancePath, { text: '{"a":' }], status: 400 },
  { title: 'a body that is no object', request: ['PUT', instancePath, { text: '[]' }], status: 400 },
  { title: 'no body', request: ['PUT', instancePath], status: 400 },
  {
    title: 'a body that is no UTF-8',
    request: ['PUT', instancePath, { text: new Uint8Array([0x22, 0xff, 0x22]) }],
    status: 400,
  },
  {
    title: 'a body of another type is read all the same',
    request: ['PUT', instancePath, { body: provisionBody, headers: { 'content-type': 'text/plain' } }],
    status: 201,
  },
  {
    title: 'a huge body',
    request: ['PUT', instancePath, { text: `{"a":"${'x'.repeat(70_000)}"}` }],
    status: 413,
  },
  {
    title: 'an id with a slash',
    request: ['PUT', '/v2/service_instances/a%2Fb', { body: provisionBody }],
    status: 400,
  },
  {
    title: 'an id of dots',
    request: ['PUT', '/v2/service_instances/%2E%2E', { body: provisionBody }],
    status: 404,
  },
  { title: 'a path that cannot be decoded', request: ['GET', '/v2/service_instances/%ff'], status: 400 },
  { title: 'an endpoint that is none', request: ['GET', '/v2/nothing'], status: 404 },

  { title: 'fetch of an instance', before: 'instance', request: ['GET', instancePath], status: 200 },
  { title: 'fetch of none', request: ['GET', instancePath], status: 404, error: 'NotFound' },
  {
    title: 'its last operation',
    before: 'instance',
    request: ['GET', `${instancePath}/last_operation`],
    status: 200,
  },
  { title: 'the last operation of none', request: ['GET', `${instancePath}/last_operation`], status: 404 },

  {
    title: 'update of the share',
    before: 'binding',
    request: ['PATCH', instancePath, { body: withParameters(provisionBody, { share: 'server/other' }) }],
    status: 200,
  },
  {
    title: 'update without plan and parameters',
    before: 'instance',
    request: ['PATCH', instancePath, { body: { service_id: provisionBody.service_id } }],
    status: 200,
  },
  {
    title: 'update with a wrong share',
    before: 'instance',
    request: ['PATCH', instancePath, { body: withParameters(provisionBody, { share: 'x' }) }],
    status: 400,
  },
  { title: 'update of none', request: ['PATCH', instancePath, { body: provisionBody }], status: 404 },

  { title: 'bind', before: 'instance', request: ['PUT', bindingPath, { body: bindBody }], status: 201 },
  {
    title: 'the same bind again',
    before: 'binding',
    request: ['PUT', bindingPath, { body: bindBody }],
    status: 200,
  },
  {
    title: 'bind with other parameters',
    before: 'binding',
    request: ['PUT', bindingPath, { body: withParameters(bindBody, { uid: '1', gid: '1' }) }],
    status: 409,
    error: 'Conflict',
  },
  {
    title: 'bind of another instance with the id of a binding',
    before: 'binding',
    request: ['PUT', bindingPath.replace('instance-1', 'instance-2'), { body: bindBody }],
    status: 404,
  },
  {
    title: 'bind without an app, as for a service key',
    before: 'instance',
    request: ['PUT', bindingPath, { body: without(bindBody, 'app_guid') }],
    status: 422,
    error: 'RequiresApp',
  },
  {
    title: 'bind to an app in bind_resource',
    before: 'instance',
    request: [
      'PUT',
      bindingPath,
      { body: { ...without(bindBody, 'app_guid'), bind_resource: { app_guid: 'app-1' } } },
    ],
    status: 201,
  },
  {
    title: 'bind with mount: 5, which panicked',
    before: 'instance',
    request: ['PUT', bindingPath, { body: withParameters(bindBody, { mount: 5 }) }],
    status: 400,
    says: /mount must be an absolute path/u,
  },
  {
    title: 'bind with the share of another',
    before: 'instance',
    request: ['PUT', bindingPath, { body: withParameters(bindBody, { share: 'a/b' }) }],
    status: 400,
    says: /^- Not allowed options: share$/u,
  },
  {
    title: 'bind with readonly: false',
    before: 'instance',
    request: ['PUT', bindingPath, { body: withParameters(bindBody, { readonly: false }) }],
    status: 201,
  },
  {
    title: 'bind without parameters',
    before: 'instance',
    request: ['PUT', bindingPath, { body: without(bindBody, 'parameters') }],
    status: 201,
  },
  {
    title: 'bind with a predecessor of nowhere',
    before: 'binding',
    request: ['PUT', `${bindingPath}b`, { body: { ...bindBody, predecessor_binding_id: 'x' } }],
    status: 400,
  },
  { title: 'fetch of a binding', before: 'binding', request: ['GET', bindingPath], status: 200 },
  { title: 'fetch of no binding', before: 'instance', request: ['GET', bindingPath], status: 404 },
  {
    title: 'its last operation, which panicked',
    before: 'binding',
    request: ['GET', `${bindingPath}/last_operation`],
    status: 200,
  },
  {
    title: 'the last operation of no binding',
    before: 'instance',
    request: ['GET', `${bindingPath}/last_operation`],
    status: 404,
  },

  { title: 'unbind', before: 'binding', request: ['DELETE', `${bindingPath}${nfsQuery}`], status: 200 },
  {
    title: 'unbind of none',
    before: 'instance',
    request: ['DELETE', `${bindingPath}${nfsQuery}`],
    status: 410,
  },
  {
    title: 'unbind without service and plan',
    before: 'binding',
    request: ['DELETE', bindingPath],
    status: 400,
    says: /^plan_id is missing; service_id is missing$/u,
  },
  {
    title: 'unbind of another service',
    before: 'binding',
    request: ['DELETE', `${bindingPath}${smbQuery}`],
    status: 400,
  },
  {
    title: 'unbind with a service that is given twice',
    before: 'binding',
    request: ['DELETE', `${bindingPath}${nfsQuery}&service_id=x`],
    status: 400,
  },
  {
    title: 'deprovision with bindings',
    before: 'binding',
    request: ['DELETE', `${instancePath}${nfsQuery}`],
    status: 400,
    says: /still has bindings: binding-1; delete them first/u,
  },
  {
    title: 'deprovision',
    before: 'instance',
    request: ['DELETE', `${instancePath}${nfsQuery}`],
    status: 200,
  },
  { title: 'deprovision of none', request: ['DELETE', `${instancePath}${nfsQuery}`], status: 410 },

  {
    title: 'no version',
    request: ['GET', '/v2/catalog', { headers: { 'x-broker-api-version': undefined } }],
    status: 412,
  },
  {
    title: 'version 1.0',
    request: ['GET', '/v2/catalog', { headers: { 'x-broker-api-version': '1.0' } }],
    status: 412,
  },
  {
    title: 'version 2.12',
    request: ['GET', '/v2/catalog', { headers: { 'x-broker-api-version': '2.12' } }],
    status: 412,
  },
  {
    title: 'version 2.17',
    request: ['GET', '/v2/catalog', { headers: { 'x-broker-api-version': '2.17' } }],
    status: 200,
  },
  {
    title: 'no password',
    request: ['GET', '/v2/catalog', { headers: { authorization: undefined } }],
    status: 401,
  },
  {
    title: 'a wrong password',
    request: ['GET', '/v2/catalog', { headers: { authorization: `Basic ${btoa('broker:x')}` } }],
    status: 401,
  },
  {
    title: 'the second password',
    request: [
      'GET',
      '/v2/catalog',
      { headers: { authorization: `Basic ${btoa(`broker:${auth.passwords[1]}`)}` } },
    ],
    status: 200,
  },
  {
    title: 'an identity that is none',
    request: [
      'GET',
      '/v2/catalog',
      { headers: { 'x-broker-api-originating-identity': 'cloudfoundry e30=x' } },
    ],
    status: 400,
    says: /X-Broker-API-Originating-Identity/u,
  },
  {
    title: 'metrics want the password, too',
    request: ['GET', '/metrics', { headers: { authorization: undefined } }],
    status: 401,
  },
  {
    title: 'health does not',
    request: ['GET', '/healthz', { headers: { authorization: undefined } }],
    status: 200,
  },
];

for (const { title, before = 'nothing', request, status, error, says } of cases) {
  test(`${title}: ${status}`, async (t) => {
    const { call } = await testBroker(t);
    await prepare(call, before);
    const reply = await call(...request);
    assert.equal(reply.status, status, reply.text);
    assertEnvelope(reply);
    if (error !== undefined) assert.equal(reply.body['error'], error);
    if (says !== undefined) assert.match(String(reply.body['description']), says);
    if (before === 'nothing' && status >= 400 && request[0] === 'PUT')
      assert.equal((await call('GET', instancePath)).status, 404, 'nothing was stored');
  });
}

/** Every refusal has a code of one word and a sentence. */
function assertEnvelope({ status, body, text }: Reply): void {
  if (status < 400 || status === 410) return;
  assert.match(String(body['error']), /^[A-Z][A-Za-z]+$/u, text);
  assert.notEqual(body['description'] ?? '', '', text);
}

test('a fetch never shows a secret, and neither does the log or the file', async (t) => {
  const { call, log, folder } = await testBroker(t);
  assert.equal((await call('PUT', instancePath, { body: smbProvisionBody })).status, 201);
  const bound = await call('PUT', bindingPath, { body: smbBindBody });
  assert.equal(bound.status, 201);
  assert.match(bound.text, new RegExp(smbSecret, 'u'));
  assert.deepEqual((await call('PUT', bindingPath, { body: smbBindBody })).body, bound.body);

  const fetched = await call('GET', bindingPath);
  assert.deepEqual(fetched.body['parameters'], { username: 'user' });
  assert.match(fetched.text, /"username":"user"/u);
  const files = await Promise.all(
    ['broker.db', 'broker.db-wal'].map(async (name) => readFile(join(folder, name), 'latin1')),
  );
  for (const text of [fetched.text, log.join(''), ...files]) assert.ok(!text.includes(smbSecret));
  assert.ok(!log.join('').includes(auth.passwords[0] ?? ''));
  const { length } = log;
  assert.ok(length >= 4, 'each request is logged');
});

test('an update reaches later bindings alone; a binding is rotated with what its predecessor had', async (t) => {
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

test('a rotation that is asked for again gets its answer, also when its predecessor is gone', async (t) => {
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

test('the answer to a bind has what the drivers and Cloud Controller read', async (t) => {
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

test('a request that is sent again gets its answer, also when the operator has forced one of its options since', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'volume-broker-'));
  t.after(() => rm(folder, { recursive: true }));
  const kept = { store: { sqlite: join(folder, 'broker.db') }, encryptionKeys: [Buffer.alloc(32, 1)] };
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

test('a share is allowed to its org and space, also where an instance is bound in another space', async (t) => {
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

test('a file server that cannot be reached is refused where the operator wants it, and logged where not', async (t) => {
  const body = withParameters(provisionBody, { share: 'no-such-host.invalid/export' });
  const strict = await testBroker(t, { preflight: 'require' });
  const refused = await strict.call('PUT', instancePath, { body });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /no-such-host\.invalid cannot be resolved/u);
  const lenient = await testBroker(t, { preflight: 'log' });
  assert.equal((await lenient.call('PUT', instancePath, { body })).status, 201);
  assert.match(lenient.log.join(''), /"level":40.*no-such-host\.invalid cannot be resolved/u);
});

test('a catalog that the platform has is not sent again, and the identity of a request comes back', async (t) => {
  const { call } = await testBroker(t);
  const catalog = await call('GET', '/v2/catalog', { headers: { 'x-broker-api-request-identity': 'req-1' } });
  assert.equal(catalog.headers.get('x-broker-api-request-identity'), 'req-1');
  const etag = catalog.headers.get('etag') ?? '';
  const again = await call('GET', '/v2/catalog', { headers: { 'if-none-match': etag } });
  assert.deepEqual([again.status, again.text], [304, '']);
});

test('who changed something is in the log', async (t) => {
  const { call, log } = await testBroker(t);
  const identity = `cloudfoundry ${btoa(JSON.stringify({ user_id: 'user-7' }))}`;
  await call('PUT', instancePath, {
    body: provisionBody,
    headers: { 'x-broker-api-originating-identity': identity },
  });
  assert.match(log.join(''), /"operation":"PUT [^"]+","path":"[^"]+","status":201.*"user":"user-7"/u);
});

test('what is no HTTP gets one answer', async (t) => {
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
