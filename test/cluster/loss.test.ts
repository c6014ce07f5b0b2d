import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { deleteVms } from './support/delete-vms.ts';
import { describeCluster } from './support/describe-cluster.ts';
import type { DiskSubject } from './support/disk-subject.ts';
import { emptiesHub } from './support/empties-hub.ts';
import { endsInEmptiedHub } from './support/ends-in-emptied-hub.ts';
import { endsWhole } from './support/ends-whole.ts';
import { isHarm } from './support/is-harm.ts';
import { outlivesDetach } from './support/outlives-detach.ts';
import { outlivesPowerCut } from './support/outlives-power-cut.ts';
import { outlivesReboot } from './support/outlives-reboot.ts';
import { outlivesUpdate } from './support/outlives-update.ts';
import {
  deafHolder,
  forgetfulVm,
  makesDisks,
  noBusyCheck,
  noDisksGate,
  noSource,
  noTmpfsCheck,
  plainHub,
  weakenedCloud,
} from './support/weakened-cloud.ts';
import { withoutNodes } from './test-cluster.ts';

/**
 * Mutation tests: here scenarios of the other suites run against a CPI without one of its guards, and must
 * report lost data. There is one test for each kind of guard. The tests for each suite are in
 * `loss*.long.test.ts`.
 */
describeCluster('what the data-survival tests would find', (world) => {
  // The damaged VMs would be in the way of a power loss.
  afterEach(() => deleteVms(world()));

  test(
    'the busy check off: detach_disk takes the disk from under a job, and what it writes then is lost',
    withoutNodes,
    async () => {
      const weak = weakenedCloud(world().cloud, [noBusyCheck]);
      await assert.rejects(outlivesDetach(world(), {}, { cloud: weak.cloud }), isHarm);
      weak.assertUsed();
    },
  );

  test(
    "a hub on the node's disk: a VM pod deleted by kubectl takes the data of its disk with it",
    withoutNodes,
    async () => {
      // This is a race between the kubelet and the mount container. The mount container must lose, as if jobs
      // or the node were slow.
      const weak = weakenedCloud(world().cloud, [plainHub, noTmpfsCheck, deafHolder]);
      const end = async (vm: string): Promise<void> => {
        // This must come before delete_vm, which lets the attachment pod unmount.
        await emptiesHub(world(), vm, (pod) => world().kubectl('delete', 'pod', pod, '--wait=false'));
        await deleteVm(world().cloud, [vm]);
      };
      const ends = { classes: ['loop'] as const, withinSeconds: 600, end };
      await assert.rejects(endsWhole(world(), ends, { cloud: weak.cloud }), isHarm);
      weak.assertUsed();
    },
  );

  test(
    "the bind at the hub's root: after a power cut the disk is below the hub's tmpfs, and a VM pod that goes takes its data",
    withoutNodes,
    async () => {
      const weak = weakenedCloud(world().cloud, [noDisksGate, makesDisks, noTmpfsCheck, deafHolder]);
      const back = ({ vm, disks: [disk = ''] }: DiskSubject): Promise<void> =>
        endsInEmptiedHub(world(), vm, disk);
      await assert.rejects(outlivesPowerCut(world(), back, { cloud: weak.cloud }), isHarm);
      weak.assertUsed();
    },
  );

  test(
    'a VM that forgets its disk: after reboot_vm the job runs on an empty store, and what it writes is lost',
    withoutNodes,
    async () => {
      const weak = weakenedCloud(world().cloud, [forgetfulVm]);
      await assert.rejects(outlivesReboot(world(), {}, { cloud: weak.cloud }), isHarm);
      weak.assertUsed();
    },
  );

  test('a copy without a source: update_disk into another class loses the data', withoutNodes, async () => {
    const weak = weakenedCloud(world().cloud, [noSource]);
    await assert.rejects(outlivesUpdate(world(), { cloud: weak.cloud }), isHarm);
    weak.assertUsed();
  });
});
