import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { hasVm } from '../../src/cpi/vm/has-vm.ts';
import { ProductError } from '../../src/errors/product-error.ts';
import { pods, secrets } from '../../src/kubernetes/resources.ts';
import { newAgentVm } from './support/agent-vm.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { fixedAddress, withoutAddresses } from './support/fixed-address.ts';

const manual = (ip: string): unknown => ({
  default: { type: 'manual', ip, netmask: '255.255.255.0', cloud_properties: {} },
});

describeCluster('manual networks by static-ip', (world) => {
  test(
    'a VM has its fixed address, and its successor has it again, on the other node',
    { skip: withoutAddresses() },
    async () => {
      const address = fixedAddress(world(), 'networks', 0);
      const first = await newAgentVm(world(), address);
      const node = await world().otherNode(first.cid);
      assert.equal((await world().pod(first.cid)).status?.podIP, address);
      await deleteVm(world().cloud, [first.cid]);
      // its agent answers there before this resolves
      const second = await newAgentVm(world(), address, { node });
      assert.equal((await world().pod(second.cid)).status?.podIP, address);
      const stranger = await world().newVm();
      await world().untilInVm(stranger, `bash -c 'exec 3<> /dev/tcp/${address}/6868'`);
      await deleteVm(world().cloud, [stranger]);
      await deleteVm(world().cloud, [second.cid]);
    },
  );

  test("the network's name servers are in the VM's resolv.conf, and files may be renamed over it and /etc/hosts", async () => {
    const networks = { default: { type: 'dynamic', dns: ['192.0.2.53'], cloud_properties: {} } };
    const vm = await world().newVm({ networks });
    assert.match(await world().inVm(vm, 'cat /etc/resolv.conf'), /^nameserver 192\.0\.2\.53$/mu);
    // what knows the names of the cluster is not asked now
    assert.match(await world().inVm(vm, 'cat /etc/bosh-kubernetes/api-server'), /^10\.96\.0\.1\n443\n$/u);
    for (const file of ['/etc/hosts', '/etc/resolv.conf']) {
      const renamed = await world().inVm(
        vm,
        `cp ${file} ${file}-new && mv ${file}-new ${file} && cat ${file}`,
      );
      assert.match(renamed, file === '/etc/hosts' ? /\tlocalhost/u : /192\.0\.2\.53/u);
    }
    await deleteVm(world().cloud, [vm]);
    const baseline = await world().newVm({ properties: { profile: 'baseline' } });
    const { stderr } = await world().exec(baseline, 'cp /etc/hosts /etc/new && mv /etc/new /etc/hosts');
    assert.match(stderr, /busy/iu);
    await deleteVm(world().cloud, [baseline]);
  });

  test('an address that is taken: a clear error, nothing left', { skip: withoutAddresses() }, async () => {
    const ip = fixedAddress(world(), 'networks', 1);
    const holder = await world().newVm({ networks: manual(ip) });
    const node = await world().nodeNameOf(holder);
    const agentId = randomUUID();
    await assert.rejects(
      world().newVm({ networks: manual(ip), agentId, node }),
      (error) => error instanceof ProductError && error.message.includes(ip),
    );
    assert.equal(await hasVm(world().cloud, [`vm-${agentId}`]), false);
    for (const resource of [pods, secrets]) {
      assert.equal(
        await world().isThere({ resource, namespace: world().namespace, name: `vm-${agentId}` }),
        false,
      );
    }
    await deleteVm(world().cloud, [holder]);
  });
});
