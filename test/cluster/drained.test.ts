import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeCluster } from './support/describe-cluster.ts';
import { drain } from './support/vm-actions.ts';
import { survivesVmDeletion } from './support/detach-scenarios.ts';
import { withoutNodes } from './test-cluster.ts';

/** The pod's grace period (30 s), a few seconds, and the time that a busy node needs for them. */
const withinSeconds = 50;

describeCluster('a node that is drained while jobs write to the disks of its VM', (world) => {
  // A foreign node also runs pods of other users.
  test('kubectl drain: the attachments are evicted with the VM, and it ends', withoutNodes, () =>
    survivesVmDeletion(world(), {
      ...{ classes: ['loop', 'loop-wait'], withinSeconds },
      end: async (vm) => {
        const output = await drain(world(), vm);
        assert.match(output, new RegExp(`${vm} evicted`, 'u'));
        assert.match(output, /attach-disk-\S+ evicted/u);
      },
    }),
  );
});
