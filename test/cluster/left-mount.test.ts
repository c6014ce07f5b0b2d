import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { until } from '../support/until.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { withoutNodes } from './test-cluster.ts';
import { assertWhole, assertWritesOn, stopWriting, storeOf, writingVm } from './support/disk-subject.ts';

/** Every process of the holder's script with those arguments; killed, it is not there to let go. */
const killHolder = (disk: string): string[] => [
  'sh',
  '-c',
  // words of a command line end with a zero byte
  `for words in $(grep -lzxF -- "$0" /proc/[0-9]*/cmdline 2>/dev/null); do
     grep -qzx hold "$words" 2>/dev/null || continue
     pid=\${words#/proc/}
     kill -9 "\${pid%/cmdline}"
   done; true`,
  disk,
];

/** Kills the holder of a disk until its restart has to wait, and deletes its pod then. */
async function deleteInBackOff(world: ClusterWorld, vm: string, disk: string): Promise<void> {
  const attachment = `attach-${disk}`;
  const node = await world.nodeOf(vm);
  await until('the holder to wait for its restart', async () => {
    const [holder] = (await world.pod(attachment)).status?.containerStatuses ?? [];
    if (holder?.state?.waiting?.reason === 'CrashLoopBackOff') return true;
    if (holder?.state?.running !== undefined) await node.run(killHolder(disk));
    return false;
  });
  await world.api.delete(world.podReference(attachment));
  // where the restart came first: in a pod on its way out nothing is started again
  await until('the attachment to be gone', async () => {
    await node.run(killHolder(disk));
    return !(await world.isThere(world.podReference(attachment)));
  });
  const { uid = '' } = (await world.pod(vm)).metadata;
  const mounts = await node.run(['grep', '-E', `pods/${uid}/.*/disks/${disk} `, '/proc/1/mountinfo']);
  assert.equal(mounts.exitCode, 0, 'nothing was left in the hub: the test has shown nothing');
}

describeCluster('an attachment deleted while its holder waits for its restart', (world) => {
  test(
    'delete_vm takes its mount out of the hub, the VM pod ends, the data is whole',
    withoutNodes,
    async () => {
      const { vm, disks } = await writingVm(world(), ['loop']);
      await deleteInBackOff(world(), vm, disks[0] ?? '');
      await world().api.delete(world().podReference(vm));
      await deleteVm(world().cloud, [vm]);
      await world().untilGone(`attach-${vm}`);
      await assertWhole(world(), disks);
    },
  );

  test('nobody else gets the disk, nor is it deleted; detach_disk takes it out', withoutNodes, async () => {
    const { vm, disks } = await writingVm(world(), ['loop']);
    const [disk = ''] = disks;
    await deleteInBackOff(world(), vm, disk);
    const node = await world().nodeNameOf(vm);
    const neighbour = await world().newVm({ node });
    await assert.rejects(attachDisk(world().cloud, [neighbour, disk]), {
      code: 'DISK_NOT_ATTACHABLE',
      message: /still mounted in another VM on the node/u,
    });
    await deleteVm(world().cloud, [neighbour]);
    const brief = world().cloudWith({}, { deadlines: { detach_disk: 5 } });
    await assert.rejects(deleteDisk(brief, [disk]), {
      code: 'DEADLINE',
      message: new RegExp(`attachment of disk '${disk}' to node ${node}`, 'u'),
    });
    await assertWritesOn(world(), vm, storeOf(0));
    await assert.rejects(detachDisk(world().cloud, [vm, disk]), { code: 'DISK_BUSY' });
    await stopWriting(world(), vm, storeOf(0));
    await detachDisk(world().cloud, [vm, disk]);
    await assertWhole(world(), disks);
    await deleteVm(world().cloud, [vm]);
  });
});
