import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCountingJob } from '../../src/agent/testing/counting-job.ts';
import { reaches } from '../../src/agent/testing/specs.ts';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { until } from '../support/until.ts';
import { endWith, lives, restarts } from './support/agent-job.ts';
import { newAgentDisk, newAgentVm, untilAnswers } from './support/agent-vm.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { fixedAddress } from './support/fixed-address.ts';
import { attachmentFirst } from './support/outlives-power-cut.ts';
import { withoutNodes } from './test-cluster.ts';

describeCluster('power cuts of nodes whose VMs have our agent and a job that writes to its disk', (world) => {
  test(
    'power cut, the attachment first: the agent finds its disk and its jobs run again',
    { ...withoutNodes, timeout: 600_000 },
    async () => {
      const vm = await newAgentVm(world(), fixedAddress(world(), 'agent', 2));
      const disk = await newAgentDisk(world(), vm);
      await startCountingJob(vm.client);
      const node = await world().nodeOf(vm.cid);
      await node.stop();
      await node.start(() => attachmentFirst(world(), disk));
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
      await startCountingJob(vm.client);
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
});
