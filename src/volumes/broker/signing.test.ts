import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { verifyVolumeId } from '../signature/signed-volume-id.ts';
import { newPair } from '../signature/testing/new-pair.ts';
import { loadVolumeIdOptions } from './open-store.ts';
import type { VolumeMount } from './store/broker-store.ts';
import { bindBody, bindingPath, instancePath, provisionBody, testBroker } from './testing/test-broker.ts';

test('a broker with a key file signs its volume ids', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'broker-signing-'));
  t.after(() => rm(directory, { recursive: true }));
  const pair = newPair();
  const signingKeyFile = join(directory, 'signing.pem');
  await writeFile(signingKeyFile, pair.privatePem, { mode: 0o600 });
  const { call } = await testBroker(t, { scheme: { signingKeyFile } });
  await call('PUT', instancePath, { body: provisionBody });
  const answer = await call('PUT', bindingPath, { body: bindBody });
  assert.equal(answer.status, 201, answer.text);
  const [mount] = answer.body['volume_mounts'] as VolumeMount[];
  assert.ok(mount);
  const config = { ...mount.device.mount_config, _workload_guid: 'app-1-process' };
  assert.deepEqual(verifyVolumeId(mount.device.volume_id, config, pair.keys), {
    instanceId: 'instance-1',
    appGuid: 'app-1',
    containerDir: '/var/vcap/data/instance-1',
    mode: 'rw',
  });
  const again = await call('PUT', bindingPath, { body: bindBody });
  assert.deepEqual([again.status, again.body], [200, answer.body]);
});

test('an app or instance whose id is invalid in a signed volume id is refused, and nothing is stored', async (t) => {
  const { call } = await testBroker(t, { scheme: { signingKey: newPair().key } });
  const path = '/v2/service_instances/instance_1';
  const binding = `${path}/service_bindings/binding-1`;
  await call('PUT', path, { body: provisionBody });
  await call('PUT', instancePath, { body: provisionBody });
  for (const [target, body] of [
    [binding, bindBody],
    [bindingPath, { ...bindBody, app_guid: 'a'.repeat(37) }],
  ] as const) {
    const refused = await call('PUT', target, { body });
    assert.match(`${refused.status} ${refused.text}`, /^400 .*signed volume id needs ids/u);
    assert.equal((await call('GET', target)).status, 404);
  }
});

test('an invalid key file keeps the broker from starting, and is named', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'broker-signing-'));
  t.after(() => rm(directory, { recursive: true }));
  const signingKeyFile = join(directory, 'signing.pem');
  await writeFile(signingKeyFile, 'geheim');
  assert.throws(
    () => loadVolumeIdOptions({ signingKeyFile }),
    (error: Error) => {
      assert.match(
        error.message,
        /signing\.key names '.*signing\.pem', which must be a private key of Ed25519/u,
      );
      return !error.message.includes('geheim');
    },
  );
});
