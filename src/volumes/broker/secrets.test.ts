import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyVolumeId } from '../signature/signed-volume-id.ts';
import { newPair } from '../signature/testing/new-pair.ts';
import type { BrokerConfig } from './config.ts';
import { nfsOffering, smbOffering } from './offerings/offering.ts';
import type { VolumeMount } from './store/broker-store.ts';
import {
  bindingPath,
  type CallBroker,
  instancePath,
  smbBindBody,
  smbPlan,
  smbProvisionBody,
  testBroker,
} from './testing/test-broker.ts';

const operator = { defaults: {}, forced: {} };
const secrets = { store: 'credhub', name: '/volumes' } as const;
const pair = newPair();
const config: Partial<BrokerConfig> = {
  offerings: [smbOffering({ operator, secrets })],
  scheme: { signingKey: pair.key },
};
const username = 'user';

async function mountOf(call: CallBroker, path: string, body: object): Promise<VolumeMount> {
  const answer = await call('PUT', path, { body });
  assert.equal(answer.status, 201, answer.text);
  const [mount] = answer.body['volume_mounts'] as VolumeMount[];
  assert.ok(mount);
  return mount;
}

test("a secret is named in its user's space, signed, and shown to its users", async (t) => {
  const { call } = await testBroker(t, config);
  await call('PUT', instancePath, { body: smbProvisionBody });
  const body = { ...smbBindBody, parameters: { username, password_ref: 'team/photos' } };
  const { device } = await mountOf(call, bindingPath, body);
  assert.equal(device.mount_config['password'], '((credhub:/volumes/space-1/team/photos))');
  assert.ok(!('refused' in verifyVolumeId(device.volume_id, device.mount_config, pair.keys)));
  const other = { ...device.mount_config, password: '((credhub:/volumes/space-2/team/photos))' };
  assert.ok('refused' in verifyVolumeId(device.volume_id, other, pair.keys));
  const again = await call('PUT', bindingPath, { body });
  assert.equal(again.status, 200, again.text);
  const shown = await call('GET', bindingPath);
  assert.deepEqual(shown.body['parameters'], { username, password_ref: 'space-1/team/photos' });
  // the name in the response is valid as a parameter
  const same = { ...body, parameters: shown.body['parameters'] };
  assert.equal((await call('PUT', bindingPath, { body: same })).status, 200);
  // an app in a space that the instance is shared into
  const bound = { ...body, bind_resource: { app_guid: 'app-2', space_guid: 'space-2' } };
  const there = await mountOf(call, `${bindingPath}-2`, bound);
  assert.equal(there.device.mount_config['password'], '((credhub:/volumes/space-2/team/photos))');
});

test('a password and its name replace each other', async (t) => {
  const { call } = await testBroker(t, config);
  const parameters = { share: '//server/share', username, password: 'geheim' };
  await call('PUT', instancePath, { body: { ...smbProvisionBody, parameters } });
  const bare = { ...smbBindBody, parameters: {} };
  const passwordAt = async (number: number, body: object): Promise<string | undefined> =>
    (await mountOf(call, `${bindingPath}-${number}`, body)).device.mount_config['password'];
  assert.equal(await passwordAt(1, bare), 'geheim');
  const named = { ...bare, parameters: { password_ref: 'a' } };
  assert.equal(await passwordAt(2, named), '((credhub:/volumes/space-1/a))');
  const patch = { ...smbPlan, parameters: { password_ref: 'b' } };
  assert.equal((await call('PATCH', instancePath, { body: patch })).status, 200);
  assert.equal(await passwordAt(3, bare), '((credhub:/volumes/space-1/b))');
  assert.equal(await passwordAt(4, { ...bare, parameters: { password: 'other' } }), 'other');
  const shown = await call('GET', instancePath);
  assert.deepEqual(shown.body['parameters'], {
    share: '//server/share',
    username,
    password_ref: 'space-1/b',
  });
});

test('an operator may force one secret on all bindings, outside of any space, and LDAP users may have secrets', async (t) => {
  const forced = { username: 'service', password_ref: 'shared/filer' };
  const nfs = nfsOffering({ ldap: true, operator: { defaults: {}, forced }, secrets });
  const { call } = await testBroker(t, { ...config, offerings: [nfs] });
  const plan = { service_id: nfs.id, plan_id: nfs.plan.id };
  const parameters = { share: 'server:/export' };
  await call('PUT', instancePath, { body: { ...smbProvisionBody, ...plan, parameters } });
  const body = { ...smbBindBody, ...plan, parameters: {} };
  const { device } = await mountOf(call, bindingPath, body);
  assert.equal(device.mount_config['password'], '((credhub:/volumes/shared/filer))');
  const own = { ...body, parameters: { password: 'own' } };
  const refused = await call('PUT', `${bindingPath}-2`, { body: own });
  assert.match(`${refused.status} ${refused.text}`, /^400 .*Not allowed options: password"/u);
});
