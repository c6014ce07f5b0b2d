import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCountingJob } from '../../src/agent/testing/counting-job.ts';
import { reaches } from '../../src/agent/testing/specs.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { getDisks } from '../../src/cpi/disk/get-disks.ts';
import { rebootVm } from '../../src/cpi/vm/reboot-vm.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { until } from '../support/until.ts';
import { endWith, lives, restarts } from './support/agent-job.ts';
import { newAgentDisk, newAgentVm, untilAnswers } from './support/agent-vm.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { fixedAddress, withoutAddresses } from './support/fixed-address.ts';
import { withoutNodes } from './test-cluster.ts';

describeCluster('VMs with our agent and a job that writes to its disk', (world) => {
  test(
    'reboot_vm keeps address, disks, agent state and jobs; so does a container that was killed',
    withoutNodes,
    async () => {
      const vm = await newAgentVm(world(), fixedAddress(world(), 'agent', 1));
      const disk = await newAgentDisk(world(), vm);
      await startCountingJob(vm.client);
      const before = await world().pod(vm.cid);

      await rebootVm(world().cloud, [vm.cid]);
      await untilAnswers(vm);
      await reaches(vm.client, 'running');
      assert.equal(await lives(world(), vm), 2);

      await killContainer(world(), vm.cid);
      await until('a third life', async () => (await restarts(world(), vm)) === 2);
      await untilAnswers(vm);
      await reaches(vm.client, 'running');
      assert.equal(await lives(world(), vm), 3);

      const now = await world().pod(vm.cid);
      assert.equal(now.metadata.uid, before.metadata.uid);
      assert.equal(now.status?.podIP, vm.address);
      assert.deepEqual(await getDisks(world().cloud, [vm.cid]), [disk]);
      assert.deepEqual(await vm.client.value('list_disk'), [disk]);
      await endWith(world(), vm, disk);
    },
  );

  test(
    'detach_disk is refused while the agent has it mounted, and goes after unmount_disk',
    { skip: withoutAddresses() },
    async () => {
      const vm = await newAgentVm(world(), fixedAddress(world(), 'agent', 3));
      const disk = await newAgentDisk(world(), vm);
      await startCountingJob(vm.client);
      await assert.rejects(detachDisk(world().cloud, [vm.cid, disk]), (error) =>
        isProductError(error, 'DISK_BUSY'),
      );
      await reaches(vm.client, 'running');
      await endWith(world(), vm, disk);
    },
  );
});

/** As by the kernel when memory runs out: SIGKILL from the node to PID 1 of the container. */
async function killContainer(world: ClusterWorld, cid: string): Promise<void> {
  const [status] = (await world.pod(cid)).status?.containerStatuses ?? [];
  const id = status?.containerID?.replace('containerd://', '') ?? '';
  assert.match(id, /^[0-9a-f]{64}$/u);
  const node = await world.nodeOf(cid);
  const killed = await node.run([
    'sh',
    '-c',
    'for p in /proc/[0-9]*; do grep -qs "$0" $p/cgroup && grep -qs "^NSpid:.*[[:space:]]1$" $p/status && kill -9 ${p#/proc/}; done; true',
    id,
  ]);
  assert.equal(killed.exitCode, 0, killed.stderr);
}
