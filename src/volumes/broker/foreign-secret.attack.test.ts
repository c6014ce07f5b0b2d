import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPair } from '../signature/testing/new-pair.ts';
import type { BrokerConfig } from './config.ts';
import { smbOffering } from './offerings/offering.ts';
import type { VolumeMount } from './store/broker-store.ts';
import {
  bindingPath,
  instancePath,
  smbBindBody,
  smbProvisionBody,
  testBroker,
} from './testing/test-broker.ts';

const operator = { defaults: {}, forced: {} };
const secrets = { store: 'credhub', name: '/volumes' } as const;
const config: Partial<BrokerConfig> = {
  offerings: [smbOffering({ operator, secrets })],
  scheme: { signingKey: newPair().key },
};
const username = 'user';

test("a user that names the secret of another space gets a name below the user's own space", async (t) => {
  const { call } = await testBroker(t, config);
  const parameters = { share: '//server/share', username, password_ref: 'space-2/photos' };
  await call('PUT', instancePath, { body: { ...smbProvisionBody, parameters } });
  const atCreate = await call('PUT', bindingPath, { body: { ...smbBindBody, parameters: {} } });
  const atBind = await call('PUT', `${bindingPath}-2`, {
    body: { ...smbBindBody, parameters: { password_ref: 'space-2/photos' } },
  });
  for (const answer of [atCreate, atBind]) {
    const [mount] = answer.body['volume_mounts'] as VolumeMount[];
    assert.equal(mount?.device.mount_config['password'], '((credhub:/volumes/space-1/space-2/photos))');
  }
});

test('a space whose GUID would lead out of the secret store has no secrets', async (t) => {
  const { call } = await testBroker(t, config);
  await call('PUT', instancePath, { body: { ...smbProvisionBody, space_guid: '..' } });
  const parameters = { username, password_ref: 'photos' };
  for (const space of ['..', 'a/b', '.', 'a))'])
    assert.match(
      (
        await call('PUT', bindingPath, {
          body: { ...smbBindBody, bind_resource: { app_guid: 'app-1', space_guid: space }, parameters },
        })
      ).text,
      /GUID of the space is not a valid part of a path/u,
    );
});

test('an invalid name of a secret is refused, and so is a password that looks like a reference', async (t) => {
  const { call } = await testBroker(t, config);
  await call('PUT', instancePath, { body: smbProvisionBody });
  const refusedFor = async (parameters: object): Promise<string> => {
    const answer = await call('PUT', bindingPath, { body: { ...smbBindBody, parameters } });
    assert.equal(answer.status, 400, answer.text);
    return answer.text;
  };
  for (const name of ['../space-2/photos', '/photos', 'a//b', '.a', 'a))', '', 5, 'a'.repeat(201)])
    assert.match(await refusedFor({ username, password_ref: name }), /password_ref must be parts of/u);
  const reference = '((credhub:/volumes/space-2/photos))';
  const text = await refusedFor({ username, password: reference });
  assert.match(text, /password must not have the form of a reference/u);
  assert.ok(!text.includes(reference));
  assert.match(
    await refusedFor({ username, password: 'a', password_ref: 'b' }),
    /password_ref is given twice/u,
  );
  assert.match(await refusedFor({ username }), /Missing mandatory options: password/u);
});

test('without a secret store a password that looks like a reference is refused too', async (t) => {
  const { call } = await testBroker(t);
  await call('PUT', instancePath, { body: smbProvisionBody });
  const parameters = { username, password: '((file:/etc/shadow))' };
  assert.equal((await call('PUT', bindingPath, { body: { ...smbBindBody, parameters } })).status, 400);
  const named = { ...smbBindBody, parameters: { username, password_ref: 'photos' } };
  assert.match((await call('PUT', bindingPath, { body: named })).text, /Not allowed options: password_ref/u);
});
