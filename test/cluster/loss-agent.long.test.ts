import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteVms, expectDataLossInHub } from './support/vm-actions.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { isDataLoss } from './support/assert-intact.ts';
import { survivesAgentDetach, type AgentPowerCut, survivesAgentPowerCut } from './support/agent-scenarios.ts';
import { survivesLostNode, attachmentFirst } from './support/node-scenarios.ts';
import {
  deafHolder,
  makesDisks,
  forgetfulVm,
  noBusyCheck,
  noTmpfsCheck,
  noDisksGate,
  cpiWithoutGuards,
} from './support/cpi-without-guards.ts';
import { withoutNodes } from './test-cluster.ts';

/** Like loss.long.test.ts, for scenarios with our agent or with a lost node. */
describeCluster('agents and nodes that lose data are detected by the tests (by hand)', (world) => {
  // The damaged VMs would be in the way of a power loss.
  afterEach(() => deleteVms(world()));

  test(
    'the busy check off, a disk that the agent has mounted: detach_disk takes it from under the job',
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [noBusyCheck]);
      await assert.rejects(survivesAgentDetach(world(), { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );

  test(
    'a VM that forgets its disk: after a power cut the job runs on an empty store, and what it writes is lost',
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [forgetfulVm]);
      const cut: AgentPowerCut = {
        off: (_, disk) => world().kubectl('delete', 'pod', `attach-${disk}`, '--force', '--grace-period=0'),
        back: ({ cid }, disk) => attachDisk(world().cloud, { vmCid: cid, diskCid: disk }),
      };
      await assert.rejects(survivesAgentPowerCut(world(), cut, { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );

  test(
    "the bind at the hub's root: after a power cut no agent finds its disk, and a VM pod that goes takes its data",
    withoutNodes,
    async () => {
      const weak = cpiWithoutGuards(world().cloud, [noDisksGate, makesDisks, noTmpfsCheck, deafHolder]);
      const cut: AgentPowerCut = {
        beforeHubs: (_, disk) => attachmentFirst(world(), disk),
        take: async ({ cid }, disk) => {
          await expectDataLossInHub(world(), cid, disk);
          return false;
        },
      };
      await assert.rejects(survivesAgentPowerCut(world(), cut, { cloud: weak.cloud }), isDataLoss);
      weak.assertUsed();
    },
  );

  test(
    'the remedy of a lost node followed while it is only frozen: the disk is taken from under its job',
    withoutNodes,
    async () => {
      const [, node] = world().cluster.nodes;
      assert.ok(node !== undefined, 'the cluster has one node');
      // delete_vm cannot know this, so the operator must: the job continues when another VM has the disk.
      await assert.rejects(survivesLostNode(world(), { node, deleted: () => node.thaw() }), isDataLoss);
    },
  );
});
