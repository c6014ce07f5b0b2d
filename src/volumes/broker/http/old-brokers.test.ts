import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { nfsOffering } from '../offerings/offering.ts';
import { credhubStub, uaaClient } from '../../credhub/testing/credhub-stub.ts';
import type { RequestCase } from '../testing/request-cases.ts';
import { testRequests, without, withParameters } from '../testing/request-cases.ts';
import {
  bindBody,
  bindingPath,
  instancePath,
  nfsQuery,
  provisionBody,
  smbBindBody,
  smbProvisionBody,
  testBroker,
} from '../testing/test-broker.ts';

const provisioning = (title: string, body: object, rest: Partial<RequestCase>): RequestCase => ({
  title: `provision ${title}`,
  request: ['PUT', instancePath, { body }],
  status: 400,
  ...rest,
});
const binding = (title: string, body: object, rest: Partial<RequestCase>): RequestCase => ({
  title: `bind ${title}`,
  before: 'instance',
  request: ['PUT', bindingPath, { body }],
  status: 400,
  ...rest,
});
const fetching = (title: string, path: string, rest: Partial<RequestCase>): RequestCase => ({
  title,
  request: ['GET', path],
  status: 404,
  ...rest,
});
const noShare = /^- Missing mandatory options: share$/u;

/** Requests that nfsbroker and smbbroker were tested with: some they handled wrongly, some correctly. */
const requests: readonly RequestCase[] = [
  provisioning('again, identical', provisionBody, { before: 'instance', status: 200 }),
  provisioning('with other parameters', withParameters(provisionBody, { share: 'server/other' }), {
    before: 'instance',
    status: 409,
  }),
  provisioning('without parameters', without(provisionBody, 'parameters'), { message: noShare }),
  provisioning('with blank parameters', withParameters(provisionBody, ''), {
    message: /^parameters must be/u,
  }),
  {
    title: 'malformed JSON',
    request: ['PUT', instancePath, { text: '{"a' }],
    status: 400,
    message: /not JSON/u,
  },
  provisioning('without share', withParameters(provisionBody, { version: '3' }), { message: noShare }),
  provisioning('with source', withParameters(provisionBody, { share: 'a/b', source: 'c/d' }), {
    message: /^- Not allowed options: source$/u,
  }),
  provisioning('with a colon after the server', withParameters(provisionBody, { share: 'server:/x' }), {
    status: 201,
  }),
  provisioning('without service_id', without(provisionBody, 'service_id'), { message: /^service_id/u }),
  provisioning('without plan_id', without(provisionBody, 'plan_id'), { message: /^plan_id/u }),
  provisioning('of an unknown service', { ...provisionBody, service_id: 'x' }, { message: /^service_id/u }),
  provisioning('of an unknown plan', { ...provisionBody, plan_id: 'x' }, { message: /^plan_id/u }),
  provisioning('without organization_guid', without(provisionBody, 'organization_guid'), {
    message: /^organization_guid is missing$/u,
  }),
  binding('with an unknown option', withParameters(bindBody, { colour: 'red' }), {
    message: /^- Not allowed options: colour$/u,
  }),
  binding('with another share', withParameters(bindBody, { share: 'a/b' }), {
    message: /^- Not allowed options: share$/u,
  }),
  binding('with mount: "../etc"', withParameters(bindBody, { mount: '../etc' }), {
    message: /mount must be/u,
  }),
  binding('with uid "abc" and gid "-1"', withParameters(bindBody, { uid: 'abc', gid: '-1' }), {
    message: /gid must be .*; uid must be /u,
  }),
  ...['3,exec', 'NaN'].map((version) =>
    binding(`with version "${version}"`, withParameters(bindBody, { version }), {
      message: /version must be/u,
    }),
  ),
  binding('without app_guid', without(bindBody, 'app_guid'), { status: 422, error: 'RequiresApp' }),
  binding('on a missing instance', bindBody, { before: 'nothing', status: 404 }),
  fetching('fetch of a missing instance', instancePath, {}),
  fetching('fetch of an instance', instancePath, { before: 'instance', status: 200 }),
  fetching('fetch of a missing binding', bindingPath, { before: 'instance' }),
  fetching('last operation of a missing instance', `${instancePath}/last_operation`, {}),
  fetching('last operation of a missing binding', `${bindingPath}/last_operation`, {}),
  {
    title: 'update',
    before: 'instance',
    request: ['PATCH', instancePath, { body: provisionBody }],
    status: 200,
  },
  { title: 'unbind', before: 'binding', request: ['DELETE', `${bindingPath}${nfsQuery}`], status: 200 },
  { title: 'unbind again', request: ['DELETE', `${bindingPath}${nfsQuery}`], status: 410 },
  {
    title: 'deprovision',
    before: 'instance',
    request: ['DELETE', `${instancePath}${nfsQuery}`],
    status: 200,
  },
  { title: 'deprovision again', request: ['DELETE', `${instancePath}${nfsQuery}`], status: 410 },
  {
    title: 'deprovision with a binding',
    before: 'binding',
    request: ['DELETE', `${instancePath}${nfsQuery}`],
    status: 400,
    message: /still has bindings: binding-1; delete them first/u,
  },
  ...['1.0', undefined].map((version): RequestCase => ({
    title: `version ${version}`,
    request: ['GET', instancePath, { headers: { 'x-broker-api-version': version } }],
    status: 412,
  })),
];
testRequests("each request of the upstream brokers' tests", requests);

/** Requests that show bugs of the upstream brokers. */
const bugs: readonly RequestCase[] = [
  binding('again, with the same parameters', bindBody, { before: 'binding', status: 200 }),
  binding('again, with other parameters', withParameters(bindBody, { uid: '1', gid: '1' }), {
    before: 'binding',
    status: 409,
  }),
  fetching('fetch of a binding', bindingPath, { before: 'binding', status: 200 }),
  fetching('last operation of a binding', `${bindingPath}/last_operation`, {
    before: 'binding',
    status: 200,
  }),
  ...[5, null, {}, ['/a'], true].map((mount) =>
    binding(`with mount: ${JSON.stringify(mount)}`, withParameters(bindBody, { mount }), {
      message: /mount must be an absolute path/u,
    }),
  ),
  ...['--bind/etc', '-o/x', '--bind:/etc'].map((share) =>
    provisioning(`with share "${share}"`, withParameters(provisionBody, { share }), {
      message: /share must be/u,
    }),
  ),
];
testRequests('this broker does not have the bugs of nfsbroker', bugs);

const smbParameters = smbBindBody.parameters;
testRequests(
  'this broker does not have the bugs of smbbroker',
  [
    binding('with a comma in domain', withParameters(smbBindBody, { ...smbParameters, domain: 'W,noperm' }), {
      message: /domain must be/u,
    }),
    ...['noserverino', 'forceuid', 'nodfs', 'mfsymlinks'].map((flag) =>
      binding(
        `with a comma in ${flag}`,
        withParameters(smbBindBody, { ...smbParameters, [flag]: 'x,noperm' }),
        {
          message: new RegExp(`${flag} must be true or false`, 'u'),
        },
      ),
    ),
    ...['sec', 'file_mode', 'vers', 'credentials'].map((name) =>
      binding(`with ${name}`, withParameters(smbBindBody, { ...smbParameters, [name]: '0777' }), {
        message: new RegExp(`^- Not allowed options: ${name}$`, 'u'),
      }),
    ),
    ...['--bind', '//-a/b', '-//a/b'].map((share) =>
      provisioning(`with share "${share}"`, withParameters(smbProvisionBody, { share }), {
        message: /share must be/u,
      }),
    ),
  ],
  { provision: smbProvisionBody, bind: smbBindBody },
);

const operator = { defaults: {}, forced: {} };
testRequests(
  'LDAP mode refuses an empty password, which servers take for an anonymous user',
  [
    binding('with an empty password', withParameters(bindBody, { username: 'u', password: '' }), {
      message: /password must be/u,
    }),
    binding('without a password', withParameters(bindBody, { username: 'u' }), {
      message: /^- Missing mandatory options: password$/u,
    }),
    binding('with uid and gid', withParameters(bindBody, { username: 'u', password: 'p', uid: 1, gid: 1 }), {
      message: /^- Not allowed options: gid, uid$/u,
    }),
  ],
  {
    provision: provisionBody,
    bind: bindBody,
    changes: { offerings: [nfsOffering({ ldap: true, operator, maintenance: undefined })] },
  },
);

test('a request waits for no other instance, and independent CredHub requests run concurrently', async (t) => {
  const stub = await credhubStub();
  const directory = await mkdtemp(join(tmpdir(), 'broker-credhub-'));
  t.after(async () => {
    await stub.stop();
    await rm(directory, { recursive: true });
  });
  const caFile = join(directory, 'ca.pem');
  await writeFile(caFile, stub.ca);
  const uaa = { ...uaaClient, url: undefined, caFile: undefined };
  const credhub = { url: stub.url, storeId: 'nfsbroker', caFile, auth: { uaa } };
  const { call } = await testBroker(t, { store: { credhub }, encryptionKeys: [] });
  assert.equal((await call('GET', instancePath)).status, 404);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  stub.before = (request) => (request.includes('/instance-1/') ? released : undefined);
  const pending = call('PUT', instancePath, { body: provisionBody });
  assert.equal((await call('PUT', `${instancePath}0`, { body: provisionBody })).status, 201);
  assert.equal((await call('PUT', `${instancePath}0/service_bindings/b`, { body: bindBody })).status, 201);
  release();
  assert.equal((await pending).status, 201);
});
