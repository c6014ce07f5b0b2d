import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import type { ErrorCode } from '../../errors/error-table.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { networkAttachmentDefinitions, networkPolicies, pods } from '../../kubernetes/resources.ts';
import { Field } from '../../platform/field.ts';
import { networkPolicyKind, withoutMultus } from '../testing/foreign-kinds.ts';
import { createVmRequest, namesLeft, namespace, testCloud } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';
import { createNetwork } from './create-network.ts';
import { deleteNetwork } from './delete-network.ts';
import { readAddressInRange, firstAddress, isInRange, readIpRange } from './network-request.ts';
import { rejection } from '../testing/rejection.ts';
import type { CreateNetworkRequest } from '../protocol/methods.ts';

const definition = (properties: object, more: object = {}): CreateNetworkRequest => ({
  definition: { type: 'manual', range: '10.0.0.0/24', cloud_properties: properties, ...more },
});
const policy = { network_policy: true };
const macvlan = { network_attachment: { type: 'macvlan', master: 'eth1' } };

type Kept = KubernetesObject & { spec: Record<string, unknown> };

test("a NetworkPolicy admits traffic of the network's VMs and of the allowed ranges", async (t) => {
  const { cloud, api } = await testCloud(t, {}, [networkPolicyKind]);
  const [cid, range, properties] = await createNetwork(
    cloud,
    definition({ ...policy, allow_from: ['10.9.0.0/16'] }, { gateway: '10.0.0.254' }),
  );
  assert.deepEqual(range, { range: '10.0.0.0/24', gateway: '10.0.0.254', reserved: [] });
  assert.deepEqual(properties, { network_policy: cid });
  const { spec } = await api.get<Kept>({ resource: networkPolicies, namespace, name: cid });
  const podSelector = { matchLabels: { [`bosh.cloudfoundry.org/${cid}`]: '' } };
  assert.deepEqual(spec, {
    podSelector,
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector }, { ipBlock: { cidr: '10.9.0.0/16' } }] }],
  });

  const networks = { a: { type: 'dynamic', cloud_properties: properties } };
  const [vm] = await createVm(cloud, createVmRequest({ networks }));
  const { metadata } = await api.get<Pod>({ resource: pods, namespace, name: vm });
  assert.equal(metadata.labels?.[`bosh.cloudfoundry.org/${cid}`], '');
  await assert.rejects(
    deleteNetwork(cloud, { networkCid: cid }),
    rejection('NETWORK_IN_USE', new RegExp(`VM '${vm}' is in it`, 'u')),
  );
  const [other] = await createVm(cloud, createVmRequest({ agentId: 'other', networks }));
  await assert.rejects(
    deleteNetwork(cloud, { networkCid: cid }),
    rejection('NETWORK_IN_USE', new RegExp(`VMs '${vm}', '${other}' are in it; delete them first`, 'u')),
  );
  await deleteVm(cloud, { vmCid: other });
  await deleteVm(cloud, { vmCid: vm });
  assert.equal(await deleteNetwork(cloud, { networkCid: cid }), null);
  assert.equal(await deleteNetwork(cloud, { networkCid: cid }), null);
  await assert.rejects(
    createVm(cloud, createVmRequest({ networks })),
    rejection('NOT_SUPPORTED', /there is no NetworkPolicy/u),
  );
  assert.deepEqual(await namesLeft(api), []);
});

test('a NetworkAttachmentDefinition takes addresses, and its network becomes an interface', async (t) => {
  const { cloud, api, node } = await testCloud(t);
  node.multus = 'as asked';
  const [cid, { gateway }, properties] = await createNetwork(cloud, definition({ ...macvlan, zone: 'z1' }));
  assert.equal(gateway, '10.0.0.1');
  assert.deepEqual(properties, { network_attachment: cid });
  const { spec } = await api.get<Kept>({ resource: networkAttachmentDefinitions, namespace, name: cid });
  assert.deepEqual(JSON.parse(String(spec['config'])), {
    ...{ cniVersion: '1.0.0', name: cid, capabilities: { ips: true }, ipam: { type: 'static' } },
    ...{ type: 'macvlan', master: 'eth1' },
  });
  const network = { ip: '10.0.0.7', netmask: '255.255.255.0', cloud_properties: properties };
  const [vm] = await createVm(cloud, createVmRequest({ networks: { network } }));
  await assert.rejects(deleteNetwork(cloud, { networkCid: cid }), rejection('NETWORK_IN_USE', /is in it/u));
  await deleteVm(cloud, { vmCid: vm });
  await deleteNetwork(cloud, { networkCid: cid });
});

test('the same request returns the same network; another range returns another one', async (t) => {
  const { cloud } = await testCloud(t, {}, [networkPolicyKind]);
  const [first] = await createNetwork(cloud, definition(policy));
  assert.deepEqual((await createNetwork(cloud, definition(policy)))[0], first);
  const [other] = await createNetwork(cloud, definition(policy, { range: '10.0.1.0/24' }));
  assert.notEqual(other, first);
});

test('the property networks.network_policy says that policies are enforced; a subnet may say otherwise', async (t) => {
  const { cloud } = await testCloud(t, { networks: { network_policy: true } }, [networkPolicyKind]);
  assert.match((await createNetwork(cloud, definition({})))[0], /^net-policy-/u);
  await assert.rejects(
    createNetwork(cloud, definition({ network_policy: false })),
    rejection('NOT_IMPLEMENTED', /network_policy: true/u),
  );
});

const refused: readonly [string, CreateNetworkRequest, ErrorCode, RegExp][] = [
  [
    'nothing that enforces it',
    definition({}),
    'NOT_IMPLEMENTED',
    /NetworkPolicy, if the cluster enforces them/u,
  ],
  ['no such kind: policies', definition(policy), 'NOT_IMPLEMENTED', /has no NetworkPolicies/u],
  [
    'an unknown key',
    definition({ ...policy, vlan: 7 }),
    'INVALID_ARGUMENT',
    /"vlan" \(known are network_policy/u,
  ],
  [
    'both',
    definition({ ...policy, ...macvlan }),
    'INVALID_ARGUMENT',
    /network_attachment and keys for a policy/u,
  ],
  ['no plugin', definition({ network_attachment: {} }), 'INVALID_ARGUMENT', /CNI configuration/u],
  [
    'a range of our choice',
    definition(policy, { range: null, netmask_bits: 24 }),
    'NOT_SUPPORTED',
    /range is missing/u,
  ],
  [
    'a range that is none',
    definition(policy, { range: '10.0.0.0' }),
    'INVALID_ARGUMENT',
    /range is not a range/u,
  ],
  [
    'a gateway elsewhere',
    definition(policy, { gateway: '10.0.1.1' }),
    'INVALID_ARGUMENT',
    /gateway is not an address of the/u,
  ],
  ['a dynamic network', definition(policy, { type: 'dynamic' }), 'NOT_SUPPORTED', /only manual networks/u],
];

for (const [name, request, code, message] of refused) {
  test(`create_network refused before anything changed: ${name}`, async (t) => {
    const { cloud } = await testCloud(t);
    await assert.rejects(createNetwork(cloud, request), rejection(code, message));
  });
}

test('in a cluster without Multus create_network is rejected and delete_network does nothing', async (t) => {
  const { cloud } = await testCloud(t);
  const poor = withoutMultus(cloud);
  await assert.rejects(
    createNetwork(poor, definition(macvlan)),
    rejection('NOT_IMPLEMENTED', /has no Multus/u),
  );
  assert.equal(await deleteNetwork(poor, { networkCid: 'net-attachment-gone' }), null);
});

test('delete_network: an object that is not a network of the CPI is success and is not changed', async (t) => {
  const { cloud, api } = await testCloud(t, {}, [networkPolicyKind]);
  for (const cid of ['garbage', 'net-policy-gone', 'net-attachment-gone', 'vm-1'])
    assert.equal(await deleteNetwork(cloud, { networkCid: cid }), null);
  await api.create(networkPolicies, {
    metadata: { namespace, name: 'net-policy-foreign' },
    spec: {},
  });
  assert.equal(await deleteNetwork(cloud, { networkCid: 'net-policy-foreign' }), null);
  await api.get({ resource: networkPolicies, namespace, name: 'net-policy-foreign' });
});

const argument = (value: unknown): Field => new Field(value, 'range', 'INVALID_ARGUMENT');

test('the default gateway of a range is in the range', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.tuple(fc.ipV4(), fc.nat(32)), fc.tuple(fc.ipV6(), fc.nat(128))),
      ([address, bits]) => {
        const range = readIpRange(argument(`${address}/${bits}`));
        assert(isInRange(range, address));
        assert.equal(readAddressInRange(argument(firstAddress(range)), range), firstAddress(range));
      },
    ),
  );
});
