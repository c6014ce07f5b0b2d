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
describeCluster('what the data-survival tests would find', (world) => {
  // The damaged VMs would be in the way of a power loss.
  afterEach(() => deleteVms(world()));

  test(
    'the busy check off: detach_disk takes the disk from under a job, and what it writes then is lost',
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [noBusyCheck]);
      await assert.rejects(survivesDetach(world(), {}, { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );

  test(
    "a hub on the node's disk: a VM pod deleted by kubectl takes the data of its disk with it",
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
    "the bind at the hub's root: after a power cut the disk is below the hub's tmpfs, and a VM pod that goes takes its data",
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
    'a VM that forgets its disk: after reboot_vm the job runs on an empty store, and what it writes is lost',
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [forgetfulVm]);
      await assert.rejects(survivesReboot(world(), {}, { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );

  test('a copy without a source: update_disk into another class loses the data', withoutNodes, async () => {
    const weak = cpiWithoutGuards(world().cloud, [noSource]);
    await assert.rejects(survivesUpdate(world(), { cloud: weak.cloud }), isDataLoss);
    weak.assertUsed();
  });
});
