import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteVms } from './support/delete-vms.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { endsInEmptiedHub } from './support/ends-in-emptied-hub.ts';
import { isHarm } from './support/is-harm.ts';
import { outlivesAgentDetach } from './support/outlives-agent-detach.ts';
import { type AgentPowerCut, outlivesAgentPowerCut } from './support/outlives-agent-power-cut.ts';
import { outlivesLostNode } from './support/outlives-lost-node.ts';
import { attachmentFirst } from './support/outlives-power-cut.ts';
import {
  deafHolder,
  makesDisks,
  forgetfulVm,
  noBusyCheck,
  noTmpfsCheck,
  noDisksGate,
  weakenedCloud,
} from './support/weakened-cloud.ts';
import { withoutNodes } from './test-cluster.ts';

/** Like loss.long.test.ts, for scenarios with our agent or with a lost node. */
describeCluster('what the data-survival tests of agents and lost nodes would find, by hand', (world) => {
  // The damaged VMs would be in the way of a power loss.
  afterEach(() => deleteVms(world()));

  test(
    'the busy check off, a disk that the agent has mounted: detach_disk takes it from under the job',
    withoutNodes,
    async () => {
      const weak = weakenedCloud(world().cloud, [noBusyCheck]);
      await assert.rejects(outlivesAgentDetach(world(), { cloud: weak.cloud }), isHarm);
      weak.assertUsed();
    },
  );

  test(
    'a VM that forgets its disk: after a power cut the job runs on an empty store, and what it writes is lost',
    withoutNodes,
    async () => {
      const weak = weakenedCloud(world().cloud, [forgetfulVm]);
      const cut: AgentPowerCut = {
        off: (_, disk) => world().kubectl('delete', 'pod', `attach-${disk}`, '--force', '--grace-period=0'),
        back: ({ cid }, disk) => attachDisk(world().cloud, [cid, disk]),
      };
      await assert.rejects(outlivesAgentPowerCut(world(), cut, { cloud: weak.cloud }), isHarm);
      weak.assertUsed();
    },
  );

  test(
    "the bind at the hub's root: after a power cut no agent finds its disk, and a VM pod that goes takes its data",
    withoutNodes,
    async () => {
      const weak = weakenedCloud(world().cloud, [noDisksGate, makesDisks, noTmpfsCheck, deafHolder]);
      const cut: AgentPowerCut = {
        beforeHubs: (_, disk) => attachmentFirst(world(), disk),
        take: async ({ cid }, disk) => {
          await endsInEmptiedHub(world(), cid, disk);
          return false;
        },
      };
      await assert.rejects(outlivesAgentPowerCut(world(), cut, { cloud: weak.cloud }), isHarm);
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
      await assert.rejects(outlivesLostNode(world(), { node, deleted: () => node.thaw() }), isHarm);
    },
  );
});
