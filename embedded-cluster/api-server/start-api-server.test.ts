import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { isProductError } from '../../src/errors/product-error.ts';
import type { KubernetesObject, Status } from '../../src/kubernetes/object.ts';
import { configMaps, pods } from '../../src/kubernetes/resources.ts';
import { openLocalApi } from './local-api.ts';
import { issueCertificates } from './pki/certificates.ts';
import { startApiServer } from './start-api-server.ts';
import { FakeConsole } from './testing/fake-console.ts';
import { temporaryDirectory } from './testing/temporary-directory.ts';
import { startTestServer } from './testing/test-server.ts';

const collection = '/api/v1/namespaces/bosh/configmaps';

test('unauthenticated requests see only health and version', async (t) => {
  const server = await startTestServer(t);
  for (const path of ['/healthz', '/livez', '/readyz', '/version']) {
    assert.equal((await server.call(path, { anonymous: true })).code, 200, path);
  }
  for (const path of ['/api', '/apis', '/api/v1/pods', '/openapi/v3', '/nowhere']) {
    const answer = await server.call(path, { anonymous: true });
    assert.equal(answer.code, 401, path);
    assert.equal((answer.json() as { reason: string }).reason, 'Unauthorized');
  }
});

test('a timeout in the URL is a duration, or the request is refused', async (t) => {
  const server = await startTestServer(t);
  for (const timeout of ['', '0', '0s', '3m', '1h2.5m', '32s'])
    assert.equal((await server.call(`/version?timeout=${timeout}`)).code, 200, timeout);
  for (const timeout of ['invalid', '5', '1d', 's', '1m 2s']) {
    const answer = await server.call(`/version?timeout=${encodeURIComponent(timeout)}`);
    assert.equal(answer.code, 400, timeout);
    assert.match(
      (answer.json() as { message: string }).message,
      /^invalid timeout specified in the request URL/u,
    );
  }
});

test("the cluster's bearer token is accepted, another one is not", async (t) => {
  const server = await startTestServer(t);
  const withToken = (token: string): Promise<{ code: number }> =>
    server.call('/api/v1/pods', { anonymous: true, headers: { authorization: `Bearer ${token}` } });
  assert.equal((await withToken(server.credentials.token)).code, 200);
  assert.equal((await withToken(`${server.credentials.token}x`)).code, 401);
  assert.equal((await withToken('')).code, 401);
});

test("client certificates of another authority and the server's own certificate are not accepted", async (t) => {
  const server = await startTestServer(t);
  const foreign = await issueCertificates(Date.now());
  const { credentials } = server;
  const pairs = [
    { adminCertificate: foreign.adminCertificate, adminKey: foreign.adminKey },
    { adminCertificate: credentials.serverCertificate, adminKey: credentials.serverKey },
  ];
  for (const pair of pairs) {
    const other = { ...server, credentials: { ...credentials, ...pair } };
    const { request } = await import('node:https');
    const code = await new Promise<number | undefined>((resolve, reject) => {
      request(
        `${other.url}/api/v1/pods`,
        {
          ca: credentials.authority,
          cert: other.credentials.adminCertificate,
          key: other.credentials.adminKey,
          agent: false,
        },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      )
        .on('error', reject)
        .end();
    });
    assert.equal(code, 401);
  }
});

test('the port is kept over restarts; another process on it is a clear error', async (t) => {
  const directory = temporaryDirectory(t);
  const api = await openLocalApi({ directory });
  const options = { api, console: new FakeConsole(), directory, onError: assert.ifError };
  const first = await startApiServer(options);
  await first.close();
  const second = await startApiServer(options);
  assert.equal(second.url, first.url);
  await second.close();
  const squatter = createServer().listen(Number(new URL(first.url).port), '127.0.0.1');
  await new Promise((resolve) => squatter.once('listening', resolve));
  await assert.rejects(startApiServer(options), (error) => isProductError(error, 'CLUSTER_PORT_TAKEN'));
  assert.equal((squatter.address() as AddressInfo).port, Number(new URL(first.url).port));
  await new Promise((resolve) => squatter.close(resolve));
  await api.close();
});

test('a list holds every object, whatever its limit, and no other version', async (t) => {
  const server = await startTestServer(t);
  for (const name of ['a', 'b', 'c']) {
    await server.api.create(configMaps, { metadata: { namespace: 'bosh', name } });
  }
  const answer = await server.call(`${collection}?limit=1`);
  const { metadata, items } = answer.json() as { metadata: { resourceVersion: string }; items: unknown[] };
  assert.equal(items.length, 3);
  assert.deepEqual(Object.keys(metadata), ['resourceVersion']);
  const version = `resourceVersion=${metadata.resourceVersion}`;
  const codeOf = async (query: string): Promise<number> => (await server.call(`${collection}?${query}`)).code;
  assert.equal(await codeOf(`${version}&resourceVersionMatch=Exact`), 200);
  assert.equal(await codeOf(`${version}&resourceVersionMatch=NotOlderThan`), 200);
  await server.api.delete({ resource: configMaps, namespace: 'bosh', name: 'c' });
  assert.equal(await codeOf(`${version}&resourceVersionMatch=Exact`), 410);
  assert.equal(await codeOf(version), 200);
  assert.equal(await codeOf('resourceVersion=999999'), 504);
  assert.equal(await codeOf('continue=token'), 400);
  assert.equal(await codeOf('sendInitialEvents=true&watch=true'), 422);
});

test('a field that is not served is refused, whatever fieldValidation says', async (t) => {
  const server = await startTestServer(t);
  for (const query of ['', '?fieldValidation=Ignore', '?fieldValidation=Warn', '?fieldValidation=Strict']) {
    const body = { metadata: { name: 'a' }, nonsense: 1 };
    const answer = await server.call(`${collection}${query}`, { method: 'POST', body });
    assert.equal(answer.code, 400, answer.text);
    assert(answer.text.includes('unknown field \\"nonsense\\"'), answer.text);
  }
});

test('a dry run returns the object and stores nothing', async (t) => {
  const server = await startTestServer(t);
  const body = { metadata: { name: 'dry' } };
  const made = await server.call(`${collection}?dryRun=All`, { method: 'POST', body });
  assert.equal(made.code, 201);
  assert.equal((await server.call(`${collection}/dry`)).code, 404);
  await server.api.create(configMaps, { metadata: { namespace: 'bosh', name: 'kept' } });
  assert.equal((await server.call(`${collection}/kept?dryRun=All`, { method: 'DELETE' })).code, 200);
  assert.equal((await server.call(`${collection}/kept`)).code, 200);
  assert.equal((await server.call(`${collection}?dryRun=Some`, { method: 'POST', body })).code, 422);
});

test('DeleteOptions come in the body or in the query, and unknown ones are refused', async (t) => {
  const server = await startTestServer(t);
  await server.api.create(configMaps, { metadata: { namespace: 'bosh', name: 'a' } });
  const wrong = { preconditions: { uid: 'other' } };
  assert.equal((await server.call(`${collection}/a`, { method: 'DELETE', body: wrong })).code, 409);
  const unknown = { orphanDependents: true };
  assert.equal((await server.call(`${collection}/a`, { method: 'DELETE', body: unknown })).code, 400);
  assert.equal(
    (await server.call(`${collection}/a?propagationPolicy=Sideways`, { method: 'DELETE' })).code,
    400,
  );
  const deleted = await server.call(`${collection}/a`, { method: 'DELETE' });
  assert.equal((deleted.json() as { status: string }).status, 'Success');
});

test('a deletion in the foreground or that orphans is refused by name, and deletes nothing', async (t) => {
  const server = await startTestServer(t);
  await server.api.create(configMaps, { metadata: { namespace: 'bosh', name: 'kept' } });
  await server.api.create(pods, {
    metadata: { namespace: 'bosh', name: 'kept' },
    spec: { containers: [{ name: 'main', image: 'none' }] },
  });
  const eviction = '/api/v1/namespaces/bosh/pods/kept/eviction';
  for (const propagationPolicy of ['Foreground', 'Orphan']) {
    const inQuery = `?propagationPolicy=${propagationPolicy}`;
    const inBody = { method: 'DELETE', body: { propagationPolicy } };
    const answers = [
      await server.call(`${collection}/kept${inQuery}`, { method: 'DELETE' }),
      await server.call(`${collection}/kept`, inBody),
      await server.call(collection, inBody),
      await server.call(eviction, { method: 'POST', body: { deleteOptions: { propagationPolicy } } }),
    ];
    for (const { code, text } of answers) {
      assert.equal(code, 400);
      assert.match(text, new RegExp(`propagationPolicy .*${propagationPolicy}.* is not served`, 'u'));
    }
  }
  for (const plural of ['configmaps', 'pods']) {
    const { json } = await server.call(`/api/v1/namespaces/bosh/${plural}/kept`);
    const { metadata } = json() as KubernetesObject;
    assert.deepEqual([metadata.deletionTimestamp, metadata.finalizers], [undefined, undefined]);
  }
  const background = { method: 'DELETE', body: { propagationPolicy: 'Background' } };
  assert.equal((await server.call(`${collection}/kept`, background)).code, 200);
});

test('a kind that is not served is refused by name, with the page that says so', async (t) => {
  const server = await startTestServer(t);
  for (const [path, what] of [
    ['apis/apps/v1', 'deployments of apps/v1'],
    ['apis/apps/v1', 'replicasets of apps/v1'],
    ['api/v1', 'replicationcontrollers of v1'],
    ['api/v1', 'podtemplates of v1'],
  ] as const) {
    const [plural = ''] = what.split(' ');
    for (const method of ['GET', 'POST']) {
      const answer = await server.call(`/${path}/namespaces/bosh/${plural}`, {
        method,
        ...(method === 'POST' && { body: { metadata: { name: 'web' } } }),
      });
      const { code, reason, message, details } = answer.json() as Status;
      assert.deepEqual([answer.code, code, reason, details?.name], [404, 404, 'NotFound', undefined]);
      assert.match(message ?? '', new RegExp(`does not serve ${what} \\(embedded-cluster/README\\.md`, 'u'));
    }
    assert.equal((await server.call(`/${path}/namespaces/bosh/${plural}/web/scale`)).code, 404);
  }
  const groups = (await server.call('/apis')).json() as { groups: { name: string }[] };
  assert(!groups.groups.some(({ name }) => name === 'apps'));
});

test('a collection is deleted by selector', async (t) => {
  const server = await startTestServer(t);
  await server.api.create(configMaps, { metadata: { namespace: 'bosh', name: 'a', labels: { go: 'yes' } } });
  await server.api.create(configMaps, { metadata: { namespace: 'bosh', name: 'b' } });
  assert.equal((await server.call(`${collection}?labelSelector=go%3Dyes`, { method: 'DELETE' })).code, 200);
  const { items } = await server.api.list(configMaps, { namespace: 'bosh' });
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['b'],
  );
});

test('invalid requests are 400, 415, 405, 404, 406 or 413 by their fault', async (t) => {
  const server = await startTestServer(t);
  const post = (body: string, type = 'application/json'): Promise<{ code: number; text: string }> =>
    server.call(collection, { method: 'POST', body, headers: { 'content-type': type } });
  const secret = await post('{"data":{"password":"hunter2"');
  assert.equal(secret.code, 400);
  assert.doesNotMatch(secret.text, /hunter2/);
  assert.equal((await post('{}', 'application/vnd.kubernetes.protobuf')).code, 400);
  assert.equal((await post('a: b', 'application/yaml')).code, 415);
  assert.equal((await post(JSON.stringify({ data: { a: 'x'.repeat(4_000_000) } }))).code, 413);
  assert.equal((await server.call(collection, { method: 'PUT' })).code, 405);
  assert.equal((await server.call('/api/v1/namespaces/bosh/limitranges')).code, 404);
  assert.equal((await server.call('/api/v1/namespaces/bosh/configmaps/a/status')).code, 404);
  assert.equal((await server.call('/apis/apps/v1/statefulsets')).code, 404);
  assert.equal((await server.call(collection, { headers: { accept: 'application/yaml' } })).code, 406);
  const patch = { method: 'PATCH', body: {}, headers: { 'content-type': 'application/apply-patch+cbor' } };
  assert.equal((await server.call(`${collection}/a`, patch)).code, 415);
});

test('an object is not created if the client accepts no representation of it', async (t) => {
  const server = await startTestServer(t);
  const body = JSON.stringify({ metadata: { name: 'a' } });
  const headers = { 'content-type': 'application/json', accept: 'application/yaml' };
  assert.equal((await server.call(collection, { method: 'POST', body, headers })).code, 406);
  assert.equal((await server.call(`${collection}/a`)).code, 404);
});

test('a URL may be as long as with a real server: it carries the scripts of exec', async (t) => {
  const server = await startTestServer(t);
  const commands = Array.from({ length: 4000 }, (_, n) => `command=word-${n}-of-a-script`).join('&');
  assert.equal((await server.call(`${collection}?${commands}`)).code, 200);
});
