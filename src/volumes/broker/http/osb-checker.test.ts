import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call, Reply } from '../testing/test-broker.ts';
import {
  bindBody,
  bindingPath,
  instancePath,
  nfsQuery,
  provisionBody,
  smbBindBody,
  smbProvisionBody,
  smbQuery,
  testBroker,
} from '../testing/test-broker.ts';
import { without, withParameters } from '../testing/request-cases.ts';

/**
 * The requests of osb-checker (its Node version for 2.13 and its Go version for 2.14), in its order, with our
 * own titles. The requests for asynchronous brokers are omitted, because this broker is synchronous.
 * osb-checker binds without an app, which is invalid for a volume; here the bind names an app.
 */
const offerings = [
  { name: 'nfs', provision: provisionBody, bind: bindBody, query: nfsQuery, other: 'server/other' },
  { name: 'smb', provision: smbProvisionBody, bind: smbBindBody, query: smbQuery, other: '//server/other' },
] as const;

const endpoints: readonly (readonly [name: string, method: string, path: string])[] = [
  ['catalog', 'GET', '/v2/catalog'],
  ['provision', 'PUT', instancePath],
  ['fetch of an instance', 'GET', instancePath],
  ['update', 'PATCH', instancePath],
  ['deprovision', 'DELETE', instancePath],
  ['last operation of an instance', 'GET', `${instancePath}/last_operation`],
  ['bind', 'PUT', bindingPath],
  ['fetch of a binding', 'GET', bindingPath],
  ['unbind', 'DELETE', bindingPath],
  ['last operation of a binding', 'GET', `${bindingPath}/last_operation`],
];

type Step = readonly [title: string, status: number, method: string, path: string, body?: object];

function lifecycle({ provision, bind, query, other }: (typeof offerings)[number]): Step[] {
  const unknown = { 'can-not': 'be-good' };
  const [service, plan] = query.slice(1).split('&');
  const put = (path: string, cases: readonly (readonly [string, number, object])[]): Step[] =>
    cases.map(([title, status, body]) => [title, status, 'PUT', path, body]);
  return [
    ...put(`${instancePath}?accepts_incomplete=true`, [
      ...['service_id', 'plan_id', 'organization_guid', 'space_guid'].map(
        (name) => [`provision without ${name}`, 400, without(provision, name)] as const,
      ),
      ['provision of an invalid service', 400, { ...provision, service_id: 'xxxxx-xxxxx' }],
      ['provision of an invalid plan', 400, { ...provision, plan_id: 'xxxxx-xxxxx' }],
      ['provision against the schema', 400, withParameters(provision, unknown)],
      ['provision', 201, provision],
      ['provision, identical', 200, provision],
      ['provision, different', 409, withParameters(provision, { share: other })],
    ]),
    ['poll of the provision', 200, 'GET', `${instancePath}/last_operation${query}`],
    ['fetch of the instance', 200, 'GET', instancePath],
    ['update without service_id', 400, 'PATCH', instancePath, without(provision, 'service_id')],
    ['update of an invalid service', 400, 'PATCH', instancePath, { ...provision, service_id: 'xxxxx' }],
    ['update against the schema', 400, 'PATCH', instancePath, withParameters(provision, unknown)],
    ['update', 200, 'PATCH', instancePath, withParameters(provision, { readonly: true })],
    ['poll of the update', 200, 'GET', `${instancePath}/last_operation${query}`],
    ...put(bindingPath, [
      ...['service_id', 'plan_id'].map((name) => [`bind without ${name}`, 400, without(bind, name)] as const),
      ['bind of an invalid service', 400, { ...bind, service_id: 'xxxxx-xxxxx' }],
      ['bind of an invalid plan', 400, { ...bind, plan_id: 'xxxxx-xxxxx' }],
      ['bind against the schema', 400, withParameters(bind, unknown)],
      ['bind', 201, bind],
      ['bind, identical', 200, bind],
      ['bind, different', 409, withParameters(bind, { ...bind.parameters, version: '3' })],
    ]),
    ['poll of the bind', 200, 'GET', `${bindingPath}/last_operation${query}`],
    ['fetch of the binding', 200, 'GET', bindingPath],
    ['unbind without service_id', 400, 'DELETE', `${bindingPath}?${plan}`],
    ['unbind without plan_id', 400, 'DELETE', `${bindingPath}?${service}`],
    ['unbind', 200, 'DELETE', `${bindingPath}${query}`],
    ['unbind of a deleted binding', 410, 'DELETE', `${bindingPath}${query}`],
    ['deprovision without service_id', 400, 'DELETE', `${instancePath}?${plan}`],
    ['deprovision without plan_id', 400, 'DELETE', `${instancePath}?${service}`],
    ['deprovision', 200, 'DELETE', `${instancePath}${query}`],
    ['deprovision of a deleted instance', 410, 'DELETE', `${instancePath}${query}`],
  ];
}

/** Checks a successful body as the schemas of osb-checker do. */
function assertBody(title: string, { body, headers }: Reply): void {
  assert.match(headers.get('content-type') ?? '', /^application\/json/u);
  if (title.startsWith('poll')) assert.deepEqual(body, { state: 'succeeded' });
  if (!/^bind|fetch of the binding/u.test(title)) return;
  const [mount, ...others] = body['volume_mounts'] as Record<string, unknown>[];
  assert.equal(others.length, 0);
  for (const name of ['driver', 'container_dir', 'mode', 'device_type'])
    assert.ok(typeof mount?.[name] === 'string' && mount[name] !== '', name);
  assert.equal(typeof mount?.['device'], 'object');
}

for (const offering of offerings)
  test(`osb-checker: the lifecycle of a binding of ${offering.name}`, async (t) => {
    const { call } = await testBroker(t);
    for (const [title, status, method, path, body] of lifecycle(offering))
      await t.test(`${title}: ${status}`, async () => {
        const reply = await call(method, path, body === undefined ? {} : { body });
        assert.equal(reply.status, status, reply.text);
        if (status < 300) assertBody(title, reply);
      });
  });

test('osb-checker: every endpoint needs a version and a valid password', async (t) => {
  const { call } = await testBroker(t);
  const faulty: readonly (readonly [status: number, headers: NonNullable<Call['headers']>])[] = [
    [412, { 'x-broker-api-version': undefined }],
    [401, { authorization: undefined }],
    [401, { authorization: `Basic ${btoa('spock:spockpass')}` }],
  ];
  for (const [name, method, path] of endpoints)
    for (const [status, headers] of faulty) {
      const reply = await call(method, path, { headers, ...(method.startsWith('P') ? { body: {} } : {}) });
      assert.equal(reply.status, status, `${name}: ${reply.text}`);
    }
});

test('osb-checker: the catalog is valid for OSBAPI and Cloud Controller', async (t) => {
  const { call } = await testBroker(t);
  const services = (await call('GET', '/v2/catalog')).body['services'] as Service[];
  assert.deepEqual(
    services.map(({ name }) => name),
    ['nfs', 'smb'],
  );
  const plans = services.flatMap((service) => service.plans);
  for (const ids of [services.map(({ id }) => id), plans.map(({ id }) => id)])
    assert.equal(new Set(ids).size, ids.length);
  for (const { id, name, description } of [...services, ...plans])
    for (const text of [id, name, description]) assert.ok(typeof text === 'string' && text !== '');
  for (const { requires, bindable, plan_updateable: isUpdateable } of services) {
    assert.deepEqual(requires, ['volume_mount']);
    assert.deepEqual([bindable, isUpdateable], [true, false]);
  }
  for (const { schemas } of plans) {
    const { service_instance: instance, service_binding: binding } = schemas;
    for (const { parameters } of [instance['create'], instance['update'], binding['create']].map(
      (schema) => schema ?? { parameters: {} },
    )) {
      assert.equal(parameters['$schema'], 'http://json-schema.org/draft-04/schema#');
      assert.equal(parameters['additionalProperties'], false);
      assert.ok(JSON.stringify(parameters).length < 64 * 1024);
      assert.doesNotMatch(JSON.stringify(parameters), /"\$ref"/u);
    }
  }
});

type Named = Readonly<Record<'id' | 'name' | 'description', unknown>>;
type Schemas = Readonly<Record<string, { readonly parameters: Readonly<Record<string, unknown>> }>>;
interface Service extends Named {
  readonly requires: unknown;
  readonly bindable: unknown;
  readonly plan_updateable: unknown;
  readonly plans: readonly (Named & {
    readonly schemas: { readonly service_instance: Schemas; readonly service_binding: Schemas };
  })[];
}
