import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { networkAttachmentDefinitions, pods } from '../../kubernetes/resources.ts';
import { withGroups, withoutMultus } from '../testing/foreign-kinds.ts';
import {
  createVmRequest,
  namesLeft,
  namespace,
  testCloud,
  vmCidOfTest,
  type TestCloud,
} from '../testing/test-cloud.ts';
import { attachDisk } from '../disk/attach-disk.ts';
import { createDisk } from '../disk/create-disk.ts';
import { createVm } from './create-vm.ts';
import { deleteVm } from './delete-vm.ts';
import { rejection } from '../testing/rejection.ts';

const four = { type: 'manual', ip: '10.0.0.5', netmask: '255.255.255.0' };
const six = { type: 'manual', ip: 'fd00::5', netmask: 'ffff:ffff:ffff:ffff::' };
const dual = { a: four, b: six };

const calicoGroup = 'crd.projectcalico.org';
const having = (world: TestCloud, ...groups: readonly string[]): TestCloud => ({
  ...world,
  cloud: withGroups(world.cloud, ...groups),
});

async function annotationsMade({ cloud, api }: TestCloud, networks: object): Promise<Record<string, string>> {
  await createVm(cloud, createVmRequest({ networks }));
  const pod = await api.get<Pod>({ resource: pods, namespace, name: vmCidOfTest });
  return pod.metadata.annotations ?? {};
}

const ours = 'bosh.cloudfoundry.org/ip-address';
const calico = 'cni.projectcalico.org/ipAddrs';
const kubeOvn = 'ovn.kubernetes.io/ip_address';

test('nothing installed: our own annotation alone', async (t) => {
  const annotations = await annotationsMade(await testCloud(t), { a: four });
  assert.equal(annotations[ours], '10.0.0.5');
  assert.equal(annotations[calico] ?? annotations[kubeOvn], undefined);
});

test('Calico is asked for both families of a dual stack', async (t) => {
  const world = await testCloud(t);
  const annotations = await annotationsMade(having(world, calicoGroup), dual);
  assert.equal(annotations[calico], '["10.0.0.5","fd00::5"]');
  assert.equal(annotations[ours], '10.0.0.5,fd00::5');
});

test("Kube-OVN goes before Calico's policies, and a configured strategy before both", async (t) => {
  const world = having(await testCloud(t), calicoGroup, 'kubeovn.io');
  assert.equal((await annotationsMade(world, dual))[kubeOvn], '10.0.0.5,fd00::5');
  const configured = await testCloud(t, { networks: { address_strategy: 'calico' } });
  assert.equal((await annotationsMade(configured, { a: four }))[calico], '["10.0.0.5"]');
});

test('a dynamic network asks for nothing', async (t) => {
  const world = having(await testCloud(t), calicoGroup);
  const annotations = await annotationsMade(world, { a: { type: 'dynamic' } });
  assert.equal(annotations[calico] ?? annotations[ours], undefined);
});

test('both addresses of a dual stack are returned, and both are compared', async (t) => {
  const { cloud, api, node } = await testCloud(t);
  const [cid, networks] = await createVm(cloud, createVmRequest({ networks: dual }));
  assert.deepEqual([networks['a']?.['ip'], networks['b']?.['ip']], ['10.0.0.5', 'fd00::5']);
  await deleteVm(cloud, { vmCid: cid });
  node.ownAddress = '10.0.0.5';
  await assert.rejects(
    createVm(cloud, createVmRequest({ networks: dual })),
    rejection('VM_CREATION_FAILED', /got the address 10\.0\.0\.5 instead of 10\.0\.0\.5 and fd00::5/u),
  );
  assert.deepEqual(await namesLeft(api), []);
});

test("another address than the one that Calico was asked for: the remedy is Calico's", async (t) => {
  const { cloud, api, node } = await testCloud(t, { networks: { address_strategy: 'calico' } });
  node.ownAddress = '10.0.0.77';
  await assert.rejects(
    createVm(cloud, createVmRequest({ networks: { a: four } })),
    rejection(
      'VM_CREATION_FAILED',
      /10\.0\.0\.77 instead of 10\.0\.0\.5: .*ipAddrs needs Calico's own IPAM/u,
    ),
  );
  assert.deepEqual(await namesLeft(api), []);
});

test('a pod that is made anew for a disk asks for the same addresses, and is found by them', async (t) => {
  const world = having(await testCloud(t, { kubernetes: { attach: 'recreate' } }), calicoGroup);
  const { cloud, api } = world;
  const before = await annotationsMade(world, dual);
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid: vmCidOfTest });
  await attachDisk(cloud, { vmCid: vmCidOfTest, diskCid: disk });
  const { metadata, status } = await api.get<Pod>({ resource: pods, namespace, name: vmCidOfTest });
  assert.equal(metadata.annotations?.[calico], before[calico]);
  assert.deepEqual(status?.podIPs, [{ ip: '10.0.0.5' }, { ip: 'fd00::5' }]);
  await assert.rejects(
    createVm(cloud, createVmRequest({ agentId: 'other', networks: { b: six } })),
    rejection('VM_CREATION_FAILED', /has the address 10\.0\.0\.5,fd00::5/u),
  );
});

const attached = {
  own: { type: 'dynamic' },
  storage: { ...four, cloud_properties: { network_attachment: 'storage' } },
};

async function withMultus(t: Parameters<typeof testCloud>[0]): Promise<TestCloud> {
  const world = await testCloud(t);
  await world.api.create(networkAttachmentDefinitions, {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { namespace, name: 'storage' },
    spec: { config: '{}' },
  } as never);
  world.node.multus = 'as asked';
  return world;
}

test('without Multus, or without the definition, a further network is refused before anything is made', async (t) => {
  const { cloud, api } = await testCloud(t);
  const refused = rejection('NOT_SUPPORTED', /no NetworkAttachmentDefinition bosh\/storage: install Multus/u);
  await assert.rejects(createVm(withoutMultus(cloud), createVmRequest({ networks: attached })), refused);
  await assert.rejects(createVm(cloud, createVmRequest({ networks: attached })), refused);
  assert.deepEqual(await namesLeft(api), []);
});

test('with Multus a further network is an interface with its address', async (t) => {
  const world = await withMultus(t);
  const [, networks] = await createVm(world.cloud, createVmRequest({ networks: attached }));
  assert.equal(networks['storage']?.['ip'], '10.0.0.5');
  assert.match(String(networks['own']?.['ip']), /^127\.64\.1\./u);
  await assert.rejects(
    createVm(world.cloud, createVmRequest({ agentId: 'other', networks: attached })),
    rejection('VM_CREATION_FAILED', /has the address .*10\.0\.0\.5/u),
  );
});

test('with its namespace or without, one definition is one network: an address of it is given once', async (t) => {
  const withNamespace = {
    ...attached,
    storage: { ...four, cloud_properties: { network_attachment: 'bosh/storage' } },
  };
  for (const [one, other] of [
    [attached, withNamespace],
    [withNamespace, attached],
  ]) {
    const { cloud } = await withMultus(t);
    await createVm(cloud, createVmRequest({ networks: one }));
    await assert.rejects(
      createVm(cloud, createVmRequest({ agentId: 'other', networks: other })),
      rejection('VM_CREATION_FAILED', /has the address .*10\.0\.0\.5/u),
    );
  }
});

test('a VM whose label of an address lacks the namespace of the definition is found', async (t) => {
  const { cloud, api } = await withMultus(t);
  await createVm(cloud, createVmRequest({ networks: attached }));
  await api.patch(
    { resource: pods, namespace, name: vmCidOfTest },
    {
      metadata: {
        labels: {
          'ip.bosh.cloudfoundry.org/10.0.0.5..storage': '',
          'ip.bosh.cloudfoundry.org/10.0.0.5.bosh.storage': null,
        },
      },
    },
  );
  await assert.rejects(
    createVm(cloud, createVmRequest({ agentId: 'other', networks: attached })),
    rejection('VM_CREATION_FAILED', /has the address .*10\.0\.0\.5/u),
  );
});

for (const [what, multus, message] of [
  [
    'that did not run',
    undefined,
    /it has no interface of NetworkAttachmentDefinition bosh\/storage: Multus must run/u,
  ],
  ['that gave another address', '10.0.0.9', /did not get the address 10\.0\.0\.5 .*capability "ips"/u],
] as const) {
  test(`a Multus ${what}: VMCreationFailed with the remedy, nothing left`, async (t) => {
    const { cloud, api, node } = await withMultus(t);
    node.multus = multus;
    await assert.rejects(
      createVm(cloud, createVmRequest({ networks: attached })),
      rejection('VM_CREATION_FAILED', message),
    );
    assert.deepEqual(await namesLeft(api), []);
  });
}

test('an address is used again when its former VM is gone, and not before', async (t) => {
  const { cloud, api } = await testCloud(t);
  const [former] = await createVm(cloud, createVmRequest({ agentId: 'former', networks: dual }));
  await assert.rejects(
    createVm(cloud, createVmRequest({ agentId: 'next', networks: { b: six } })),
    rejection('VM_CREATION_FAILED', /VM 'vm-former' has the address 10\.0\.0\.5,fd00::5/u),
  );
  const [, [next]] = await Promise.all([
    deleteVm(cloud, { vmCid: former }),
    // requests the address while the previous VM is terminating
    (async () => {
      for await (const event of api.watch<Pod>(pods, { namespace })) {
        if (event.type !== 'ERROR' && event.object.metadata.deletionTimestamp !== undefined) break;
      }
      return createVm(cloud, createVmRequest({ agentId: 'next', networks: { b: six } }));
    })(),
  ]);
  assert.equal(next, 'vm-next');
});
