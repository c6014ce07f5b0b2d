import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { until } from '../support/until.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { assertWhole, startWriting, stopWriting, storeOf, writingVm } from './support/disk-subject.ts';

const runs = ['kubelet', 'containerd'] as const;

describeCluster('a node whose programs restart', (world) => {
  for (const program of runs) {
    test(`${program} restarted in the middle of an attach and of a detach: both converge`, async () => {
      const vm = await world().newVm();
      const node = await world().nodeOf(vm);
      const disk = await world().newDisk('loop');
      const attached = attachDisk(world().cloud, [vm, disk]);
      await until('the attachment', () => world().isThere(world().podReference(`attach-${disk}`)));
      await node.restart(program);
      const hint = await attached;
      await world().untilInVm(vm, `mkdir -p ${storeOf(0)} && mount --bind ${hint} ${storeOf(0)}`);
      await world().inVm(vm, `echo ${disk} > ${storeOf(0)}/canary`);
      await startWriting(world(), vm, storeOf(0));
      await stopWriting(world(), vm, storeOf(0));

      const detached = detachDisk(world().cloud, [vm, disk]).then(
        () => undefined,
        (error: unknown) => error,
      );
      await node.restart(program);
      const failure = await detached;
      // the holder is spoken to through the kubelet: where it was away, the call is made again, as a director does
      if (failure !== undefined) await detachDisk(world().cloud, [vm, disk]);
      await world().untilGone(`attach-${disk}`);
      await assertWhole(world(), [disk], { node: await world().otherNode(vm) });
      await deleteVm(world().cloud, [vm]);
    });
  }

  test('power cut: every process and mount gone, the attachment first: no job on an empty store, data whole', async () => {
    const { vm, disks } = await writingVm(world(), ['loop']);
    const [disk = ''] = disks;
    const node = await world().nodeOf(vm);
    const before = await world().pod(vm);
    await node.stop();
    await node.start();
    await until('the VM to run again', async () => {
      const [status] = (await world().pod(vm)).status?.containerStatuses ?? [];
      return status?.state?.running !== undefined && (status.restartCount ?? 0) > 0;
    });
    await world().untilInVm(vm, `test "$(cat /warden-cpi-dev/disks/${disk}/store/canary)" = ${disk}`);
    assert.equal((await world().pod(vm)).metadata.uid, before.metadata.uid);
    // nothing that a job could take for its disk
    assert.equal(
      await world().inVm(vm, 'mountpoint -q /var/vcap/store && cat /var/vcap/store/canary || echo none'),
      'none\n',
    );
    await detachDisk(world().cloud, [vm, disk]);
    await assertWhole(world(), disks, { node: await world().otherNode(vm) });
    await deleteVm(world().cloud, [vm]);
  });
});
