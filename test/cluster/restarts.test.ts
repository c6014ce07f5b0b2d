import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { survivesPowerCut, survivesRestart, restartedPrograms } from './support/node-scenarios.ts';
import { withoutNodes } from './test-cluster.ts';

describeCluster('a node whose programs restart', (world) => {
  for (const program of restartedPrograms) {
    test(
      `${program} killed in the middle of an attach and of a detach: both converge`,
      withoutNodes,
      async () => {
        const { vm, isRefused } = await survivesRestart(world(), program);
        assert.ok(isRefused, 'detach_disk took a disk that was written to');
        await deleteVm(world().cloud, { vmCid: vm });
      },
    );
  }

  test(
    'after a power cut, if the attachment pod starts first, no job runs on an empty store and the data is intact',
    withoutNodes,
    () =>
      survivesPowerCut(world(), async ({ vm, disks: [disk = ''] }) => {
        await world().untilInVm(vm, `test "$(cat /warden-cpi-dev/disks/${disk}/store/canary)" = ${disk}`);
        // There is nothing that a job could mistake for its disk.
        assert.equal(
          await world().inVm(vm, 'mountpoint -q /var/vcap/store && cat /var/vcap/store/canary || echo none'),
          'none\n',
        );
        await detachDisk(world().cloud, { vmCid: vm, diskCid: disk });
      }),
  );
});
