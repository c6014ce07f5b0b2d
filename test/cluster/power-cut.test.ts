import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { until } from '../support/until.ts';
import { lives, type AgentVm } from './support/agent-vm.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { survivesAgentPowerCut } from './support/agent-scenarios.ts';
import { attachmentFirst } from './support/node-scenarios.ts';
import { withoutNodes } from './test-cluster.ts';

describeCluster('power cuts of nodes whose VMs have our agent and a job that writes to its disk', (world) => {
  const asBefore = async (vm: AgentVm): Promise<void> => {
    assert.equal(await lives(world(), vm), 2);
    assert.equal((await world().pod(vm.cid)).status?.podIP, vm.address);
  };

  test(
    'after a power cut, if the attachment pod starts first, the agent finds its disk and its jobs run again',
    { ...withoutNodes, timeout: 600_000 },
    async () => {
      const beforeHubs = (_: AgentVm, disk: string): Promise<void> => attachmentFirst(world(), disk);
      const isRefused = await survivesAgentPowerCut(world(), { beforeHubs, writes: asBefore });
      assert.ok(isRefused, 'detach_disk took a disk that was written to');
    },
  );

  test(
    'after a power cut without the disk the VM reports this, and no job runs until the disk is back',
    withoutNodes,
    async () => {
      const isRefused = await survivesAgentPowerCut(world(), {
        off: (_, disk) => world().kubectl('delete', 'pod', `attach-${disk}`, '--force', '--grace-period=0'),
        back: async ({ cid }, disk) => {
          await givesUpWaiting(cid, disk);
          await attachDisk(world().cloud, { vmCid: cid, diskCid: disk });
        },
        writes: asBefore,
      });
      assert.ok(isRefused, 'detach_disk took a disk that was written to');
    },
  );

  async function givesUpWaiting(cid: string, disk: string): Promise<void> {
    const nothing = `test -d /warden-cpi-dev/disks && ! test -e /var/vcap/store/lives && ! mountpoint -q /var/vcap/store &&
      ! grep -qsx bosh-agent /proc/[0-9]*/comm`;
    await world().untilInVm(cid, nothing);
    await until(
      'the VM to give up waiting',
      async () => {
        const [status] = (await world().pod(cid)).status?.containerStatuses ?? [];
        return status?.lastState?.terminated?.exitCode === 1;
      },
      400_000,
    );
    assert.match(
      await world().kubectl('logs', cid, '--container', 'bosh', '--previous'),
      new RegExp(`disk ${disk} did not come to .* within 120 s`, 'u'),
    );
    await world().untilInVm(cid, nothing);
  }
});
