import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { credhubStub, uaaClient } from '../credhub/testing/credhub-stub.ts';
import { instancePath, provisionBody, testBroker } from './testing/test-broker.ts';

test('the broker starts while its CredHub is unavailable, reports it, and works when CredHub is available again', async (t) => {
  const stub = await credhubStub();
  await stub.stop();
  const directory = await mkdtemp(join(tmpdir(), 'broker-credhub-'));
  t.after(() => rm(directory, { recursive: true }));
  const caFile = join(directory, 'ca.pem');
  await writeFile(caFile, stub.ca);
  const uaa = { ...uaaClient, url: undefined, caFile: undefined };
  const credhub = { url: stub.url, storeId: 'nfsbroker', caFile, auth: { uaa } };
  const { call, log } = await testBroker(t, { store: { credhub }, encryptionKeys: [] });
  const sick = await call('GET', '/healthz');
  assert.equal(sick.status, 503);
  assert.match(
    String(sick.body['description']),
    /CredHub at https:\S+ cannot be read or written: .*ECONNREFUSED/u,
  );
  assert.match(log.join(''), /run only one broker with store_id nfsbroker/u);
  await stub.start();
  t.after(() => stub.stop());
  assert.equal((await call('GET', '/healthz')).status, 200);
  assert.equal((await call('PUT', instancePath, { body: provisionBody })).status, 201);
  stub.fail = () => 403;
  const refused = await call('GET', instancePath);
  assert.deepEqual([refused.status, refused.body['error']], [503, 'StoreUnavailable']);
  assert.doesNotMatch(log.join(''), /geheim/u);
});
