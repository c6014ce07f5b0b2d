import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { until } from '../../../../test/support/until.ts';
import type { Broker } from '../broker.ts';
import type { AllowedShare } from '../offerings/offering.ts';
import { brokerMetrics, brokerServer } from './server.ts';
import { withParameters } from '../testing/request-cases.ts';
import {
  auth,
  bindBody,
  bindingPath,
  instancePath,
  nfs,
  provisionBody,
  smb,
  smbProvisionBody,
  testBroker,
} from '../testing/test-broker.ts';

/** The offerings for a developer who may use one directory of each server. */
const offerings = [
  { ...nfs, allowedShares: [{ share: 'nfs.example.com/export/team-a' }, { share: '[2001:db8::1]/a' }] },
  { ...smb, allowedShares: [{ share: '//smb.example.com/share/team-a' }] },
];

test('no spelling of a share leaves the directory that the operator allows', async (t) => {
  const { call } = await testBroker(t, { offerings });
  const outside = [
    'nfs.example.com/export',
    'nfs.example.com/export/team-ab',
    'nfs.example.com/export/team-a/../team-b',
    'nfs.example.com:/export/team-a/..',
    'nfs.example.com:/export/team-a/.. /team-b',
    'nfs.example.com/export/team-a/.../team-b',
    'nfs.example.com//export/team-a/../team-b',
    'nfs.example.com/export/./team-b',
    'nfs.example.com/Export/team-a',
    'nfs.example.com/export/team%2da',
    'nfs.example.com/%65xport/team-a',
    'nfs.example.com./export/team-a',
    'nfs.example.com:2049:/export/team-a',
    'nfs.example.com,other/export/team-a',
    'user@nfs.example.com/export/team-a',
    'nfs.example.com\\@other/export/team-a',
    'nfs.example.com#/export/team-a',
    'other/nfs.example.com/export/team-a',
    'nfs://nfs.example.com/export/team-a',
    '192.0.2.7/export/team-a',
    '[::ffff:192.0.2.7]/export/team-a',
    '[2001:db8::1]/ab',
    '[2001:db8::1%eth0]/a',
    '[2001:db8::2]/a',
  ];
  const outsideSmb = [
    '//smb.example.com/share',
    '//smb.example.com/share/team-ab',
    '//smb.example.com/share/team-a/../team-b',
    '\\\\smb.example.com\\share\\team-a\\..\\team-b',
    '\\\\smb.example.com\\share\\team-a\\.. \\team-b',
    '//smb.example.com./share/team-a',
    '//smb.example.com@SSL/share/team-a',
    '//smb.example.com:445/share/team-a',
    '//?/UNC/smb.example.com/share/team-a',
    '//other/smb.example.com/share/team-a',
    'smb://smb.example.com/share/team-a',
    '//::ffff:c000:207/share/team-a',
  ];
  for (const [body, shares] of [
    [provisionBody, outside],
    [smbProvisionBody, outsideSmb],
  ] as const)
    for (const share of shares) {
      const refused = await call('PUT', instancePath, { body: withParameters(body, { share }) });
      assert.equal(refused.status, 400, share);
      assert.ok(!refused.text.includes('nfs.example.com') && !refused.text.includes('team-a'), refused.text);
    }
  const inside = withParameters(provisionBody, { share: 'NFS.Example.COM:/export/team-a/photos' });
  assert.equal((await call('PUT', instancePath, { body: inside })).status, 201);
  for (const share of outside) {
    const body = withParameters(provisionBody, { share });
    assert.equal((await call('PATCH', instancePath, { body })).status, 400, share);
  }
  for (const name of ['share', 'source', 'Share', 'share '])
    assert.equal(
      (await call('PUT', bindingPath, { body: withParameters(bindBody, { [name]: 'other/x' }) })).status,
      400,
      name,
    );
});

test("an instance shared into a space of another org does not use its own org's share there", async (t) => {
  const allowing = (rule: Omit<AllowedShare, 'share'>): (typeof nfs)[] => [
    { ...nfs, allowedShares: [{ share: 'server/export', ...rule }] },
  ];
  // Cloud Controller sends the instance's org and space in the context; of the app it sends only the space
  const context = { organization_guid: 'org-1', space_guid: 'space-1' };
  const app = (space: string): object => ({
    ...bindBody,
    context,
    bind_resource: { app_guid: 'app-1', space_guid: space },
  });
  const cases = [
    [{ organizations: ['org-1'] }, 'space-1', 201],
    [{ organizations: ['org-1'] }, 'space-2', 400],
    [{ spaces: ['space-1', 'space-2'] }, 'space-2', 201],
    [{ spaces: ['space-1'] }, 'space-2', 400],
  ] as const;
  for (const [rule, space, status] of cases) {
    const { call } = await testBroker(t, { offerings: allowing(rule) });
    assert.equal((await call('PUT', instancePath, { body: provisionBody })).status, 201);
    const bound = await call('PUT', bindingPath, { body: app(space) });
    assert.equal(bound.status, status, `${JSON.stringify(rule)} ${space}: ${bound.text}`);
  }
});

test('a volume is not mounted over a directory that the container needs', async (t) => {
  const { call } = await testBroker(t);
  assert.equal((await call('PUT', instancePath, { body: provisionBody })).status, 201);
  const mounts = ['/', '//', '/.', '/proc', '//proc/1', '/./proc', '/proc/', '/sys/fs/cgroup', '/dev/shm'];
  const odd = [
    '/a/../proc',
    '/a/..',
    '../etc',
    'etc',
    '/a:b',
    '/a,b',
    '/a\\b',
    '/a\nb',
    '/a\0b',
    '/a\u2028b',
  ];
  for (const mount of [...mounts, ...odd, `/${'x'.repeat(256)}`, `/${'ü'.repeat(128)}`]) {
    const body = withParameters(bindBody, { mount });
    assert.equal((await call('PUT', bindingPath, { body })).status, 400, JSON.stringify(mount));
  }
});

test('the input of a client adds no line to the log, and no series to the metrics', async (t) => {
  const { call, log } = await testBroker(t);
  const forged = '\n{"level":30,"msg":"forged"}\r\u2028\u001b[2J';
  const identity = Buffer.from(JSON.stringify({ user_id: forged })).toString('base64');
  const headers = { 'x-broker-api-originating-identity': `cloudfoundry ${identity}` };
  const body = withParameters(provisionBody, { [forged]: forged, share: forged });
  const refused = await call('PUT', instancePath, { body, headers });
  assert.equal(refused.status, 400);
  assert.doesNotMatch(String(refused.body['description']).replaceAll('\n', ''), /\p{Cc}|\u2028/u);
  for (let number = 0; number < 20; number += 1) {
    const odd = `${encodeURIComponent(forged)}-${number}`;
    await call('PUT', `/v2/service_instances/${odd}`, { body });
    await call('GET', `/${odd}`);
  }
  for (const line of log) {
    assert.match(line, /^\{[^\n\r]*\}\n$/u);
    assert.notEqual((JSON.parse(line) as { msg: string }).msg, 'forged');
  }
  const { text } = await call('GET', '/metrics');
  const operations = new Set(
    [...text.matchAll(/requests_total\{operation="([^"]+)"/gu)].map(([, name]) => name),
  );
  assert.deepEqual(operations, new Set(['PUT /v2/service_instances/:instanceId', 'GET unknown']));
});

test('a client without a password gets no information', async (t) => {
  const { call } = await testBroker(t);
  assert.equal((await call('PUT', instancePath, { body: provisionBody })).status, 201);
  const strangers = [
    undefined,
    'Basic',
    'Basic =',
    `Basic ${btoa(auth.username)}`,
    `Basic ${btoa(`${auth.username}:`)}`,
    `Basic ${btoa(`:${auth.passwords[0]}`)}`,
    `Basic ${btoa(`${auth.username}:${auth.passwords[0]} `)}`,
    `Basic ${btoa(`${auth.username.toUpperCase()}:${auth.passwords[0]}`)}`,
    `Bearer ${btoa(`${auth.username}:${auth.passwords[0]}`)}`,
  ];
  const paths = [instancePath, '/v2/service_instances/none', '/v2/catalog', '/v2/nothing', '/metrics'];
  for (const authorization of strangers)
    for (const path of paths) {
      const reply = await call('GET', path, { headers: { authorization } });
      assert.equal(reply.status, path === '/v2/nothing' ? 404 : 401, `${authorization} ${path}`);
      assert.doesNotMatch(reply.text, /server\/export|org-1/u);
    }
});

test('the health endpoint needs no password, and concurrent requests check the store once', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let checks = 0;
  const server = brokerServer({
    broker: {} as Broker,
    catalog: {},
    auth,
    metrics: brokerMetrics(),
    checkStore: () => {
      checks += 1;
      return released;
    },
    logger: pino({ level: 'silent' }),
  });
  t.after(() => server.close());
  let arrived = 0;
  server.addHook('onRequest', async () => {
    arrived += 1;
  });
  const requests = Array.from({ length: 50 }, () => server.inject('/healthz'));
  await until('all to ask', async () => arrived === requests.length);
  release();
  assert.deepEqual(
    new Set((await Promise.all(requests)).map(({ statusCode }) => statusCode)),
    new Set([200]),
  );
  assert.equal(checks, 1);
});
