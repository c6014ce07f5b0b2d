import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { networkPolicies } from '../../src/kubernetes/resources.ts';
import { clause } from './clause.ts';
import { World } from './world.ts';

const subnet = { type: 'manual', range: '192.0.2.0/24', gateway: '192.0.2.1', cloud_properties: {} };

describe('networks', () => {
  let world: World;
  before(async () => {
    world = await World.open();
  });
  after(() => world.close());

  clause('22c', async () => {
    const existing = await world.objects();
    const several = {
      one: { type: 'dynamic', cloud_properties: {}, default: ['dns', 'gateway'] },
      two: { type: 'dynamic', cloud_properties: {} },
    };
    // none of them needs an interface of its own, so no cluster can support both
    const message = await world.refuses(
      'NotSupported',
      'create_vm',
      world.vmArguments({ networks: several }),
    );
    assert.match(message, /one, two .*cloud_properties\.network_attachment \(with Multus\)/u);
    assert.deepEqual(await world.objects(), existing);
  });

  clause('22d', async () => {
    const existing = await world.objects();
    const dual = {
      four: { type: 'manual', ip: world.address(), cloud_properties: {}, default: ['dns', 'gateway'] },
      six: { type: 'manual', ip: '2001:db8::10', prefix: '128', cloud_properties: {} },
    };
    const { result, error } = await world.request('create_vm', world.vmArguments({ networks: dual }));
    if (world.target.offers.dualStack) {
      assert.equal(error, null, error?.message);
      const [cid] = result as [string];
      const ips = (await world.pod(cid)).status?.podIPs?.map(({ ip }) => ip);
      assert.deepEqual(ips, [dual.four.ip, dual.six.ip]);
      await world.call('delete_vm', cid);
    } else {
      assert.equal(error?.type, 'Bosh::Clouds::VMCreationFailed', error?.message);
      assert.match(error?.message ?? '', /2001:db8::10/u);
    }
    assert.deepEqual(await world.objects(), existing);
  });

  clause('43a', async () => {
    const { error } = await world.request('create_network', [subnet]);
    assert.equal(error?.type, 'Bosh::Clouds::NotImplemented', error?.message);
    const policy = { ...subnet, cloud_properties: { network_policy: true } };
    if (!world.target.offers.networkPolicies) {
      const message = await world.refuses('NotImplemented', 'create_network', [policy]);
      assert.match(message, /this cluster has no NetworkPolicies/u);
      return;
    }
    const made = await world.call<[string, { range: string }, object]>('create_network', policy);
    const [cid, range, properties] = made;
    assert.equal(range.range, subnet.range);
    assert.deepEqual(properties, { network_policy: cid });
    assert.deepEqual(await world.call('create_network', policy), made);
    assert.deepEqual(await policyNames(), [cid]);
    await world.call('delete_network', cid);
    assert.deepEqual(await policyNames(), []);
  });

  clause('43b', async () => {
    // two of the formats of the CPI's cids; a cid of another format is never looked up
    for (const cid of [`net-policy-${randomUUID()}`, `net-attachment-${randomUUID()}`, 'garbage']) {
      const { error } = await world.request('delete_network', [cid]);
      assert.ok(error === null || error.type === 'Bosh::Clouds::NetworkNotFound', error?.message);
    }
  });

  clause('43c', async () => {
    for (const wrong of [
      { ...subnet, range: 'x' },
      { ...subnet, cloud_properties: { no_such_key: 1 } },
      null,
      [],
    ]) {
      const { error } = await world.request('create_network', [wrong]);
      assert.ok(error !== null, JSON.stringify(wrong));
    }
    assert.deepEqual(await policyNames(), []);
  });

  async function policyNames(): Promise<unknown[]> {
    try {
      const { items } = await world.api.list(networkPolicies, { namespace: world.namespace });
      return items.map(({ metadata }) => metadata.name);
    } catch (error) {
      if (isApiError(error, 404)) return [];
      throw error;
    }
  }
});
