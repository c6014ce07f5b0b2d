import assert from 'node:assert/strict';
import { test } from 'node:test';
import { directoriesOf } from '../../src/agent/directories.ts';
import { helloJob } from '../../src/agent/testing/hello-job.ts';
import { reaches, specWith } from '../../src/agent/testing/specs.ts';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { getDisks } from '../../src/cpi/disk/get-disks.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { rebootVm } from '../../src/cpi/vm/reboot-vm.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { until } from '../support/until.ts';
import { type AgentVm, newAgentDisk, newAgentVm, untilAnswers } from './support/agent-vm.ts';
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
      await startJob(vm);
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
    'power cut: the agent finds its disk and its jobs run again',
    { ...withoutNodes, timeout: 600_000 },
    async () => {
      const vm = await newAgentVm(world(), fixedAddress(world(), 'agent', 2));
      const disk = await newAgentDisk(world(), vm);
      await startJob(vm);
      const node = await world().nodeOf(vm.cid);
      await node.stop();
      await node.start();
      await until('a second life', async () => (await restarts(world(), vm)) > 0);
      await untilAnswers(vm);
      await reaches(vm.client, 'running');
      assert.equal(await lives(world(), vm), 2);
      assert.equal((await world().pod(vm.cid)).status?.podIP, vm.address);
      await endWith(world(), vm, disk);
    },
  );

  test(
    'power cut, and the disk does not come back: the VM says so, and no job runs until it does',
    withoutNodes,
    async () => {
      const vm = await newAgentVm(world(), fixedAddress(world(), 'agent', 4));
      const disk = await newAgentDisk(world(), vm);
      await startJob(vm);
      const node = await world().nodeOf(vm.cid);
      await node.stop();
      await world().kubectl('delete', 'pod', `attach-${disk}`, '--force', '--grace-period=0');
      await node.start();
      const nothing = `test -d /warden-cpi-dev/disks && ! test -e /var/vcap/store/lives && ! mountpoint -q /var/vcap/store &&
      ! grep -qsx bosh-agent /proc/[0-9]*/comm`;
      await world().untilInVm(vm.cid, nothing);
      await until(
        'the VM to give up waiting',
        async () => {
          const [status] = (await world().pod(vm.cid)).status?.containerStatuses ?? [];
          return status?.lastState?.terminated?.exitCode === 1;
        },
        400_000,
      );
      assert.match(
        await world().kubectl('logs', vm.cid, '--container', 'bosh', '--previous'),
        new RegExp(`disk ${disk} did not come to .* within 120 s`, 'u'),
      );
      await world().untilInVm(vm.cid, nothing);

      await attachDisk(world().cloud, [vm.cid, disk]);
      await untilAnswers(vm);
      await reaches(vm.client, 'running');
      assert.equal(await lives(world(), vm), 2);
      await endWith(world(), vm, disk);
    },
  );

  test(
    'detach_disk is refused while the agent has it mounted, and goes after unmount_disk',
    { skip: withoutAddresses() },
    async () => {
      const vm = await newAgentVm(world(), fixedAddress(world(), 'agent', 3));
      const disk = await newAgentDisk(world(), vm);
      await startJob(vm);
      await assert.rejects(detachDisk(world().cloud, [vm.cid, disk]), (error) =>
        isProductError(error, 'DISK_BUSY'),
      );
      await reaches(vm.client, 'running');
      await endWith(world(), vm, disk);
    },
  );
});

/** A job that writes a line to its disk whenever it starts. */
async function startJob({ client }: AgentVm): Promise<void> {
  const files = helloJob(directoriesOf('/var/vcap'));
  const ctl = files['./hello/bin/ctl'] ?? '';
  const writing = ctl.replace('  start)', '  start)\n    echo life >> /var/vcap/store/lives || exit 9');
  await client.task('apply', await specWith(client, { ...files, './hello/bin/ctl': writing }));
  await client.value('start');
  await reaches(client, 'running');
}

const lives = async (world: ClusterWorld, { cid }: AgentVm): Promise<number> =>
  Number(await world.inVm(cid, 'wc -l < /var/vcap/store/lives'));

async function restarts(world: ClusterWorld, { cid }: AgentVm): Promise<number> {
  const [status] = (await world.pod(cid)).status?.containerStatuses ?? [];
  return status?.state?.running === undefined ? -1 : (status.restartCount ?? 0);
}

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

async function endWith(world: ClusterWorld, { cid, client }: AgentVm, disk: string): Promise<void> {
  await client.task('stop');
  await client.task('unmount_disk', disk);
  await client.task('remove_persistent_disk', disk);
  await detachDisk(world.cloud, [cid, disk]);
  await deleteVm(world.cloud, [cid]);
  await deleteDisk(world.cloud, [disk]);
}
