import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { until } from '../support/until.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { startWriting } from './support/disk-subject.ts';
import { assertWeak, noBusyCheck, noTmpfsCheck, plainHub, weakenedCloud } from './support/weakened-cloud.ts';

/** The suites beside this one find lost data where there is some: each harm is done here once, to a CPI without its
 * guard. Of the attachment deleted by force no harm comes: kubelet 1.36 keeps a device that is still mounted somewhere. */
describeCluster('what the data-survival tests would find', (world) => {
  test('the busy check off: detach_disk takes the disk from under a job, and what it writes then is lost', async () => {
    const cloud = weakenedCloud(world().cloud, [noBusyCheck]);
    const vm = await world().newVm({ cloud });
    const disk = await world().newDisk('loop');
    const hint = await attachDisk(cloud, [vm, disk]);
    const place = '/var/vcap/store';
    await world().inVm(
      vm,
      `mkdir -p ${place} && mount --bind ${hint} ${place} && echo ${disk} > ${place}/canary`,
    );
    await startWriting(world(), vm, place);
    assertWeak(JSON.stringify((await world().pod(`attach-${disk}`)).spec).replaceAll('\\n', '\n'), [
      noBusyCheck,
    ]);

    await detachDisk(cloud, [vm, disk]);
    const acknowledged = async (): Promise<number> =>
      Number(
        await world()
          .exec(vm, `wc -l < ${place}/log`)
          .then(({ stdout }) => stdout || '0'),
      );
    const before = await acknowledged();
    const other = await world().newVm({ cloud, node: await world().otherNode(vm) });
    const there = await attachDisk(cloud, [other, disk]);
    await world()
      .untilInVm(vm, `test $(wc -l < ${place}/log) -gt ${before + 200}`, 20_000)
      .catch(() => 'the device is gone from under it');
    const after = await acknowledged();
    const found = Number(
      await world()
        .exec(other, `wc -l < ${there}/log`)
        .then(({ stdout }) => stdout || '0'),
    );
    // where the device is gone altogether, the job's folder cannot even be read
    const { stderr } = await world().exec(vm, `cat ${place}/log > /dev/null`);
    assert.ok(
      found < after || /Input\/output error|Stale|not connected/u.test(stderr),
      `nothing is lost: ${found} of ${after} lines are on the disk`,
    );
    assert.equal(await world().inVm(vm, 'echo alive'), 'alive\n');
    await world().inVm(vm, `kill -9 -$(cat /tmp/pid-var-vcap-store); umount -l ${place}; true`);
    await deleteVm(cloud, [vm]);
    await deleteVm(cloud, [other]);
  });

  test("a hub on the node's disk: a VM pod deleted by force takes the data of its disk with it", async () => {
    const cloud = weakenedCloud(world().cloud, [plainHub, noTmpfsCheck]);
    const vm = await world().newVm({ cloud });
    assertWeak(JSON.stringify((await world().pod(vm)).spec), [plainHub]);
    const disk = await world().newDisk('loop');
    const hint = await attachDisk(cloud, [vm, disk]);
    await world().inVm(vm, `echo ${disk} > ${hint}/canary && sync -f ${hint}`);
    const node = await world().nodeOf(vm);
    const { uid = '' } = (await world().pod(vm)).metadata;
    const hub = `${world().cluster.kubeletRootDirectory}/pods/${uid}/volumes/kubernetes.io~empty-dir/hub`;
    await world().api.delete(world().podReference(vm), { gracePeriodSeconds: 0 });
    // before delete_vm, which would have the attachment let go first
    await until(
      'the kubelet to remove the hub',
      async () => (await node.run(['test', '-e', hub])).exitCode === 1,
    );
    await deleteVm(world().cloud, [vm]);
    await world().untilGone(`attach-${disk}`);
    const other = await world().newVm();
    const there = await attachDisk(world().cloud, [other, disk]);
    const { stdout } = await world().exec(other, `cat ${there}/canary`);
    assert.notEqual(stdout, `${disk}\n`, 'the data survived: the test of the hub could not fail');
    await deleteVm(world().cloud, [other]);
  });
});
