import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeCluster } from './support/describe-cluster.ts';
import { endsWhole } from './support/ends-whole.ts';
import { withoutNodes } from './test-cluster.ts';

/** The pod's own grace (30 s), and a few seconds of the kubelet's. */
const withinSeconds = 40;

describeCluster('a node that is drained while jobs write to the disks of its VM', (world) => {
  // a foreign node has other people's pods on it
  test('kubectl drain: the attachments are evicted with the VM, and it ends', withoutNodes, async () => {
    let node = '';
    try {
      await endsWhole(world(), {
        ...{ classes: ['loop', 'loop-wait'], withinSeconds },
        end: async (vm) => {
          node = await world().nodeNameOf(vm);
          const options = ['--force', '--delete-emptydir-data', '--ignore-daemonsets'];
          const said = await world().kubectl('drain', node, ...options);
          assert.match(said, new RegExp(`${vm} evicted`, 'u'));
          assert.match(said, /attach-disk-\S+ evicted/u);
        },
      });
    } finally {
      if (node !== '') await world().kubectl('uncordon', node);
    }
  });
});
