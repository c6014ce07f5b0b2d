import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createTestAuthority } from '../../../kubernetes/testing/certificates.ts';
import type { CredhubStub } from '../../credhub/testing/credhub-stub.ts';
import { credhubStub, uaaClient } from '../../credhub/testing/credhub-stub.ts';
import { bindingRecord, instanceRecord, storeSuite } from '../testing/store-suite.ts';
import type { BrokerStore } from './broker-store.ts';
import type { CredhubAccess } from '../../credhub/credhub-client.ts';
import { CredhubClient } from '../../credhub/credhub-client.ts';
import { CredhubStore } from './credhub-store.ts';

const answer = { status: 201, body: {} };

async function stubFor(t: TestContext): Promise<CredhubStub> {
  const stub = await credhubStub();
  t.after(() => stub.stop());
  return stub;
}

function openIn(t: TestContext, access: CredhubAccess): BrokerStore {
  const store = new CredhubStore('nfsbroker', new CredhubClient(access));
  t.after(() => store.close());
  return store;
}

const addTo = (store: BrokerStore, instanceId: string): Promise<unknown> =>
  store.change({ instanceId }, () => ({ answer, instance: instanceRecord(instanceId) }));

const count = (stub: CredhubStub, request: string): number =>
  stub.requests.filter((each) => each === request).length;

storeSuite('CredHub', async (t) => openIn(t, (await stubFor(t)).access));

test('ids that CredHub cannot tell apart, or does not allow, are kept apart and returned unchanged', async (t) => {
  const store = openIn(t, (await stubFor(t)).access);
  const ids = ['abc', 'ABC', 'a~c', 'x'.repeat(255)];
  for (const id of ids) {
    await addTo(store, id);
    for (const binding of ids)
      await store.change({ instanceId: id, bindingId: binding }, () => ({
        answer,
        binding: bindingRecord(binding, id),
      }));
  }
  for (const id of ids) {
    const view = await store.read({ instanceId: id, bindingId: id });
    assert.deepEqual([view.instance?.id, view.binding?.id], [id, id]);
    await store.updateInstance(id, ({ bindingIds }) => {
      assert.deepEqual(bindingIds, ids.toSorted());
      return { answer };
    });
  }
});

test('a token is fetched once, and again when it was refused or is about to expire', async (t) => {
  const stub = await stubFor(t);
  const store = openIn(t, stub.access);
  const tokens = (): number => count(stub, 'POST /uaa/oauth/token');
  await Promise.all(['i', 'j', 'k'].map((id) => addTo(store, id)));
  assert.equal(tokens(), 1);
  stub.expireTokens();
  assert.equal((await store.read({ instanceId: 'i' })).instance?.id, 'i');
  assert.equal(tokens(), 2);
  stub.tokenSeconds = 0;
  stub.expireTokens();
  await assert.rejects(store.read({ instanceId: 'i' }), { code: 'STORE_UNAVAILABLE', message: /401/u });
});

test('a certificate replaces the UAA', async (t) => {
  const stub = await stubFor(t);
  const { certificate, key } = stub.clientCertificate;
  const store = openIn(t, { url: stub.url, ca: stub.ca, auth: { certificate, key } });
  await addTo(store, 'i');
  assert.equal((await store.read({ instanceId: 'i' })).instance?.id, 'i');
  assert.equal(count(stub, 'POST /uaa/oauth/token'), 0);
});

test('a request is retried if the server is busy or drops the connection', async (t) => {
  const stub = await stubFor(t);
  const store = openIn(t, stub.access);
  const failures: (number | 'drop')[] = [503, 'drop', 429, 500];
  stub.fail = () => failures.pop();
  await addTo(store, 'i');
  assert.equal(failures.length, 0);
  failures.push(502, 'drop');
  assert.equal((await store.read({ instanceId: 'i' })).instance?.id, 'i');
});

test('a server whose certificate the CA did not sign gets no secret and no second request', async (t) => {
  const stub = await stubFor(t);
  const { ca } = await createTestAuthority();
  for (const access of [
    { ...stub.access, ca },
    { ...stub.access, auth: { uaa: { ...uaaClient, url: `${stub.url}/uaa`, ca } } },
  ])
    await assert.rejects(openIn(t, access).ping(), { code: 'STORE_UNAVAILABLE', message: /certificate/u });
  assert.deepEqual(stub.requests, []);
});

test('a wrong secret, and a client without permissions, are reported without the secret', async (t) => {
  const stub = await stubFor(t);
  const wrong = openIn(t, {
    ...stub.access,
    auth: { uaa: { id: uaaClient.id, secret: 'falsch', url: undefined, ca: stub.ca } },
  });
  await assert.rejects(wrong.ping(), (error: Error) => {
    assert.match(error.message, /no token for client volume-broker: status 401/u);
    assert.doesNotMatch(error.message, /falsch/u);
    return true;
  });
  stub.fail = (request) => (request === 'PUT /api/v1/data' ? 403 : undefined);
  await assert.rejects(addTo(openIn(t, stub.access), 'i'), { message: /rejected the client \(403\)/u });
  stub.fail = (request) => (request === 'GET /api/v1/data' ? 404 : undefined);
  await assert.rejects(addTo(openIn(t, stub.access), 'i'), {
    message: /permissions read, write and delete/u,
  });
});

test('an unavailable CredHub is reported at once by the health check, and used again when it is available', async (t) => {
  const stub = await stubFor(t);
  const store = openIn(t, stub.access);
  await addTo(store, 'i');
  await stub.stop();
  await assert.rejects(store.ping(), { code: 'STORE_UNAVAILABLE', message: /ECONNREFUSED/u });
  const waiting = store.read({ instanceId: 'i' });
  await stub.start();
  assert.equal((await waiting).instance?.id, 'i');
});

test('a change of one instance waits for the previous one, and not for changes of others', async (t) => {
  const stub = await stubFor(t);
  const store = openIn(t, stub.access);
  await store.read({ instanceId: 'i' });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  stub.before = (request) => (request.includes('/i/') ? released : undefined);
  const order: string[] = [];
  const pending = [1, 2].map((number) => addTo(store, 'i').then(() => order.push(`i ${number}`)));
  await addTo(store, 'j').then(() => order.push('j'));
  release();
  await Promise.all(pending);
  assert.deepEqual(order, ['j', 'i 1', 'i 2']);
});
