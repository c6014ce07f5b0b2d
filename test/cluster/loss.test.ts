import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { deleteVms, deletesHubContent, expectDataLossInHub } from './support/vm-actions.ts';
import { describeCluster } from './support/describe-cluster.ts';
import type { WritingVm } from './support/disk-setup.ts';
import { survivesVmDeletion, survivesDetach } from './support/detach-scenarios.ts';
import { isDataLoss } from './support/assert-intact.ts';
import { survivesPowerCut } from './support/node-scenarios.ts';
import { survivesReboot } from './support/agent-scenarios.ts';
import { survivesUpdate } from './support/change-scenarios.ts';
import {
  deafHolder,
  forgetfulVm,
  makesDisks,
  noBusyCheck,
  noDisksGate,
  noSource,
  noTmpfsCheck,
  plainHub,
  cpiWithoutGuards,
} from './support/cpi-without-guards.ts';
import { withoutNodes } from './test-cluster.ts';

/**
 * Mutation tests: here scenarios of the other suites run against a CPI without one of its guards, and must
 * report lost data. There is one test for each kind of guard. The tests for each suite are in
 * `loss*.long.test.ts`.
 */
describeCluster('a weakened CPI loses data, which the data-survival tests detect', (world) => {
  // The damaged VMs would be in the way of a power loss.
  afterEach(() => deleteVms(world()));

  test(
    'without the busy check detach_disk unmounts the disk of a running job, whose writes are lost',
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [noBusyCheck]);
      await assert.rejects(survivesDetach(world(), {}, { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );

  test(
    "with a hub on the node's disk, deleting the VM pod by kubectl deletes the data of its disk",
    withoutNodes,
    async () => {
      // This is a race between the kubelet and the mount container. The mount container must lose, as if jobs
      // or the node were slow.
      const weak = cpiWithoutGuards(world().cloud, [plainHub, noTmpfsCheck, deafHolder]);
      const end = async (vm: string): Promise<void> => {
        // This must come before delete_vm, which lets the attachment pod unmount.
        await deletesHubContent(world(), vm, (pod) => world().kubectl('delete', 'pod', pod, '--wait=false'));
        await deleteVm(world().cloud, { vmCid: vm });
      };
      const ends = { classes: ['loop'] as const, withinSeconds: 600, end };
      await assert.rejects(survivesVmDeletion(world(), ends, { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );

  test(
    "with the bind at the hub's root, the disk is below the hub's tmpfs after a power cut, and deleting the VM pod deletes its data",
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [noDisksGate, makesDisks, noTmpfsCheck, deafHolder]);
      const back = ({ vm, disks: [disk = ''] }: WritingVm): Promise<void> =>
        expectDataLossInHub(world(), vm, disk);
      await assert.rejects(survivesPowerCut(world(), back, { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );

  test(
    'if a VM forgets its disk, the job runs on an empty store after reboot_vm, and its writes are lost',
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [forgetfulVm]);
      await assert.rejects(survivesReboot(world(), {}, { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );

  test('if the copy has no source, update_disk to another class loses the data', withoutNodes, async () => {
    const weak = cpiWithoutGuards(world().cloud, [noSource]);
    await assert.rejects(survivesUpdate(world(), { cloud: weak.cloud }), isDataLoss);
    weak.assertUsed();
  });
});
