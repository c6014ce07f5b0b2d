import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getDisks } from '../../src/cpi/disk/get-disks.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { lives } from './support/agent-vm.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { withoutAddresses } from './support/fixed-address.ts';
import { survivesAgentDetach, survivesReboot } from './support/agent-scenarios.ts';
import { withoutNodes } from './test-cluster.ts';

describeCluster('VMs with our agent and a job that writes to its disk', (world) => {
  test(
    'reboot_vm keeps address, disks, agent state and jobs; so does a container that was killed',
    withoutNodes,
    async () => {
      let previousPod: Pod | undefined;
      const { vm, isRefused } = await survivesReboot(world(), {
        before: async ({ cid }) => {
          previousPod = await world().pod(cid);
        },
        back: async (agentVm, disk, life) => {
          assert.equal(await lives(world(), agentVm), life);
          const now = await world().pod(agentVm.cid);
          assert.equal(now.metadata.uid, previousPod?.metadata.uid);
          assert.equal(now.status?.podIP, agentVm.address);
          assert.deepEqual(await getDisks(world().cloud, { vmCid: agentVm.cid }), [disk]);
          assert.deepEqual(await agentVm.client.value('list_disk'), [disk]);
        },
      });
      assert.ok(isRefused, 'detach_disk took a disk that was written to');
      await deleteVm(world().cloud, { vmCid: vm.cid });
    },
  );

  test(
    'detach_disk is refused while the agent has it mounted, and goes after unmount_disk',
    { skip: withoutAddresses() },
    async () => {
      const { vm, isRefused } = await survivesAgentDetach(world());
      assert.ok(isRefused, 'detach_disk took a disk that was written to');
      await deleteVm(world().cloud, { vmCid: vm.cid });
    },
  );
});
