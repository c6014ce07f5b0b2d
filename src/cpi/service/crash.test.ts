import assert from 'node:assert/strict';
import { networkPolicies, services } from '../../kubernetes/resources.ts';
import type { Service } from '../../kubernetes/types/service.ts';
import type { CallContext } from '../call.ts';
import { createNetwork } from '../network/create-network.ts';
import { deleteNetwork } from '../network/delete-network.ts';
import { type CrashCase, crashCase, testCrashes } from '../testing/crash-case.ts';
import { networkPolicyKind } from '../testing/foreign-kinds.ts';
import { createVmRequest, namesLeft, namespace } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';

const ports = [{ name: 'http', port: 80, node_port: 30_080 }];
const own = { name: 'own', type: 'NodePort', selector: 'vm', ports };
const shared = { name: 'shared', cluster_ip: '127.127.0.7', ports: [{ port: 80 }] };

const vm = (agentId: string, ...list: unknown[]): CreateVmRequest =>
  createVmRequest({
    agentId,
    properties: { services: list },
    networks: { default: { type: 'dynamic' } },
    env: { bosh: { group: 'd-web' } },
  });

const objectsOf = (agentId: string): string[] => [`pods vm-${agentId}`, `secrets vm-${agentId}`];
const service = (cloud: CallContext, name: string): Promise<Service> =>
  cloud.api.get<Service>({ resource: services, namespace, name });
const holder = ({ spec }: Service): string | undefined => spec.selector?.['bosh.cloudfoundry.org/vm-id'];
const owners = ({ metadata }: Service): string[] => (metadata.ownerReferences ?? []).map(({ name }) => name);

const withFormer = async (cloud: CallContext, ...list: unknown[]): Promise<void> => {
  await createVm(cloud, vm('former', ...list));
};

const network = {
  definition: { type: 'manual', range: '10.0.0.0/24', cloud_properties: { network_policy: true } },
};

const policiesLeft = async ({ api }: CallContext): Promise<string[]> => {
  const { items } = await api.list(networkPolicies, { namespace });
  return items.map(({ metadata }) => metadata.name);
};

const cases: readonly CrashCase[] = [
  crashCase({
    name: 'create_vm with two Services',
    prepare: () => Promise.resolve(vm('one', own, shared)),
    verb: createVm,
    writes: 4,
    check: async ({ api, cloud }) => {
      assert.deepEqual(await namesLeft(api), [...objectsOf('one'), 'services own', 'services shared']);
      assert.equal(holder(await service(cloud, 'own')), 'vm-one');
      assert.deepEqual(owners(await service(cloud, 'shared')), ['vm-one']);
    },
  }),
  crashCase({
    name: "create_vm of a group's second VM",
    prepare: async (cloud) => {
      await withFormer(cloud, own, shared);
      return vm('next', own, shared);
    },
    verb: createVm,
    writes: 4,
    check: async ({ cloud }) => {
      assert.equal(holder(await service(cloud, 'own')), 'vm-former');
      assert.deepEqual(owners(await service(cloud, 'own')), ['vm-former', 'vm-next']);
      assert.deepEqual(owners(await service(cloud, 'shared')), ['vm-former', 'vm-next']);
    },
  }),
  crashCase({
    name: "create_vm that changes a group's Service",
    prepare: async (cloud) => {
      await withFormer(cloud, shared);
      return vm('next', { ...shared, ports: [{ port: 81 }] });
    },
    verb: createVm,
    writes: 3,
    check: async ({ cloud }) => {
      const { spec } = await service(cloud, 'shared');
      assert.deepEqual([spec.ports?.[0]?.port, spec.clusterIP], [81, '127.127.0.7']);
    },
  }),
  crashCase({
    name: 'create_vm that replaces a VM with a Service',
    prepare: async (cloud) => {
      await createVm(cloud, vm('one', own));
      return vm('one', { ...own, name: 'other' });
    },
    verb: createVm,
    writes: 7,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), [...objectsOf('one'), 'services other']),
  }),
  crashCase({
    name: 'delete_vm of a VM with Services of its own',
    prepare: async (cloud) => {
      await withFormer(cloud, own, shared);
      return { vmCid: 'vm-former' };
    },
    verb: deleteVm,
    writes: 4,
    check: async ({ api }) => assert.deepEqual(await namesLeft(api), []),
  }),
  crashCase({
    name: 'delete_vm that passes a Service to the successor',
    prepare: async (cloud) => {
      await withFormer(cloud, own);
      await createVm(cloud, vm('next', own));
      return { vmCid: 'vm-former' };
    },
    verb: deleteVm,
    writes: 3,
    check: async ({ api, cloud }) => {
      assert.deepEqual(await namesLeft(api), [...objectsOf('next'), 'services own']);
      assert.equal(holder(await service(cloud, 'own')), 'vm-next');
      assert.deepEqual(owners(await service(cloud, 'own')), ['vm-next']);
    },
  }),
  crashCase({
    name: 'create_network',
    moreKinds: [networkPolicyKind],
    prepare: () => Promise.resolve(network),
    verb: createNetwork,
    writes: 1,
    check: async ({ cloud }) => assert.equal((await policiesLeft(cloud)).length, 1),
  }),
  crashCase({
    name: 'delete_network',
    moreKinds: [networkPolicyKind],
    prepare: async (cloud) => ({ networkCid: (await createNetwork(cloud, network))[0] }),
    verb: deleteNetwork,
    writes: 1,
    check: async ({ cloud }) => assert.deepEqual(await policiesLeft(cloud), []),
  }),
];

testCrashes(cases);
