import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { hasVm } from '../../src/cpi/vm/has-vm.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import type { Service } from '../../src/kubernetes/types/service.ts';
import { pods, secrets, services } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { newAgentVm } from './support/agent-vm.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { fixedAddress, withoutAddresses } from './support/fixed-address.ts';

const manual = (ip: string): Record<string, unknown> => ({
  default: { type: 'manual', ip, netmask: '255.255.255.0', cloud_properties: {} },
});

/** The address that a pod has in KUBERNETES_SERVICE_HOST. */
const apiServer = { resource: services, namespace: 'default', name: 'kubernetes' };

describeCluster('manual networks by static-ip', (world) => {
  test(
    'a VM has its fixed address, and its successor has it again, on the other node',
    { skip: withoutAddresses() },
    async () => {
      const address = fixedAddress(world(), 'networks', 0);
      const first = await newAgentVm(world(), address);
      const node = await world().otherNode(first.cid);
      assert.equal((await world().pod(first.cid)).status?.podIP, address);
      await deleteVm(world().cloud, { vmCid: first.cid });
      // The VM's agent responds before this resolves.
      const second = await newAgentVm(world(), address, { node });
      assert.equal((await world().pod(second.cid)).status?.podIP, address);
      const stranger = await world().newVm();
      await world().untilInVm(stranger, `bash -c 'exec 3<> /dev/tcp/${address}/6868'`);
      await deleteVm(world().cloud, { vmCid: stranger });
      await deleteVm(world().cloud, { vmCid: second.cid });
    },
  );

  test("the network's name servers are in the VM's resolv.conf, and files may be renamed over it and /etc/hosts", async () => {
    const networks = { default: { type: 'dynamic', dns: ['192.0.2.53'], cloud_properties: {} } };
    const vm = await world().newVm({ networks });
    assert.match(await world().inVm(vm, 'cat /etc/resolv.conf'), /^nameserver 192\.0\.2\.53$/mu);
    // The cluster's DNS is not used in this VM.
    const { spec } = await world().api.get<Service>(apiServer);
    const serviceAddress = `${spec?.clusterIP}\n${spec?.ports?.[0]?.port}\n`;
    // The last file that the entrypoint writes of these. create_vm does not wait for it.
    const written = 'grep . /etc/bosh-kubernetes/api-server';
    assert.equal(await world().untilInVm(vm, written), serviceAddress);
    for (const file of ['/etc/hosts', '/etc/resolv.conf']) {
      const renamed = await world().inVm(
        vm,
        `cp ${file} ${file}-new && mv ${file}-new ${file} && cat ${file}`,
      );
      assert.match(renamed, file === '/etc/hosts' ? /\tlocalhost/u : /192\.0\.2\.53/u);
    }
    await deleteVm(world().cloud, { vmCid: vm });
    const baseline = await world().newVm({ properties: { profile: 'baseline' } });
    const { stderr } = await world().exec(baseline, 'cp /etc/hosts /etc/new && mv /etc/new /etc/hosts');
    assert.match(stderr, /busy/iu);
    await deleteVm(world().cloud, { vmCid: baseline });
  });

  test(
    'an address of another VM or of a foreign pod is refused with a clear error, and nothing remains',
    { skip: withoutAddresses() },
    async () => {
      const ip = fixedAddress(world(), 'networks', 1);
      const holder = await world().newVm({ networks: manual(ip) });
      const node = await world().nodeNameOf(holder);
      await isRefused(world(), { ip, node, code: 'VM_CREATION_FAILED' });

      const { annotations = {} } = (await world().pod(holder)).metadata;
      const asking = Object.fromEntries(
        Object.entries(annotations).filter(([, value]) => value.includes(ip)),
      );
      await deleteVm(world().cloud, { vmCid: holder });
      await world().api.create(pods, stranger(world(), asking, node));
      await until(
        'the foreign pod to have it',
        async () => (await world().pod('stranger')).status?.podIP === ip,
      );
      // The CPI does not know that pod. The node's network rejects the address.
      await isRefused(world(), { ip, node, code: 'VM_CREATION_FAILED_RETRY' });
      await world().api.delete(world().podReference('stranger'));
    },
  );
});

interface Refusal {
  readonly ip: string;
  readonly node: string;
  readonly code: 'VM_CREATION_FAILED' | 'VM_CREATION_FAILED_RETRY';
}

async function isRefused(world: ClusterWorld, { ip, node, code }: Refusal): Promise<void> {
  const agentId = randomUUID();
  const cloud = world.cloudWith({}, { deadlines: { sandbox: 10, release: 2 } });
  await assert.rejects(world.newVm({ networks: manual(ip), agentId, node, cloud }), (error) => {
    assert.ok(isProductError(error, code), String(error));
    assert.ok(error.message.includes(ip), error.message);
    return true;
  });
  const name = `vm-${agentId}`;
  assert.equal(await hasVm(world.cloud, { vmCid: name }), false);
  for (const resource of [pods, secrets])
    assert.equal(await world.isThere({ resource, namespace: world.namespace, name }), false);
}

/** Another user's pod, which requests the address like a VM does. */
const stranger = (
  { cluster, namespace }: ClusterWorld,
  annotations: Record<string, string>,
  node: string,
): Pod => ({
  metadata: { name: 'stranger', namespace, annotations },
  spec: {
    nodeSelector: { 'kubernetes.io/hostname': node },
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'c', image: cluster.stemcell.image, command: ['/bin/sleep', 'infinity'] }],
  },
});
