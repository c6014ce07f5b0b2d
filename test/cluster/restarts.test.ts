import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { assertWhole, startWriting, stopWriting, storeOf } from './support/disk-subject.ts';
import { interrupted } from './support/interrupted.ts';
import { outlivesPowerCut } from './support/outlives-power-cut.ts';
import { withoutNodes } from './test-cluster.ts';

const programs = ['kubelet', 'containerd'] as const;

describeCluster('a node whose programs restart', (world) => {
  for (const program of programs) {
    test(
      `${program} killed in the middle of an attach and of a detach: both converge`,
      withoutNodes,
      async () => {
        const vm = await world().newVm();
        const node = await world().nodeOf(vm);
        const disk = await world().newDisk('loop');
        const attachment = world().podReference(`attach-${disk}`);
        const restart = (): Promise<void> => node.restart(program);
        const hint = await interrupted(world().cloud, { moment: 'pod made', action: restart }, (cloud) =>
          attachDisk(cloud, [vm, disk]),
        );
        await world().untilInVm(vm, `mkdir -p ${storeOf(0)} && mount --bind ${hint} ${storeOf(0)}`);
        await world().inVm(vm, `echo ${disk} > ${storeOf(0)}/canary`);
        await startWriting(world(), vm, storeOf(0));
        await stopWriting(world(), vm, storeOf(0));

        const detach = (moment: 'holder asked' | 'end requested'): Promise<null> =>
          interrupted(world().cloud, { moment, action: restart }, (cloud) => detachDisk(cloud, [vm, disk]));
        // the holder is spoken to through both programs: where it was out of reach for too long the disk is still attached
        const failure = await detach('holder asked').then(
          () => undefined,
          (error: unknown) => error,
        );
        if (failure !== undefined) {
          assert.ok(isProductError(failure, 'DISK_BUSY'), failure instanceof Error ? failure.message : '');
          assert.ok(await world().isThere(attachment));
        } else {
          await attachDisk(world().cloud, [vm, disk]);
        }
        // from here on nobody has to be asked, so nothing may fail
        await detach('end requested');
        assert.equal(await world().isThere(attachment), false);
        await assertWhole(world(), [disk], { node: await world().otherNode(vm) });
        await deleteVm(world().cloud, [vm]);
      },
    );
  }

  test(
    'power cut: every process and mount gone, the attachment first: no job on an empty store, data whole',
    withoutNodes,
    () =>
      outlivesPowerCut(world(), async ({ vm, disks: [disk = ''] }) => {
        await world().untilInVm(vm, `test "$(cat /warden-cpi-dev/disks/${disk}/store/canary)" = ${disk}`);
        // nothing that a job could take for its disk
        assert.equal(
          await world().inVm(vm, 'mountpoint -q /var/vcap/store && cat /var/vcap/store/canary || echo none'),
          'none\n',
        );
        await detachDisk(world().cloud, [vm, disk]);
      }),
  );
});
