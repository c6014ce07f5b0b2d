import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteByForce } from './support/delete-by-force.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { endsWhole } from './support/ends-whole.ts';
import { evict } from './support/evict.ts';

const classes = ['loop', 'loop-wait'];
/** The pod's own grace (30 s), and a few seconds of the kubelet's. */
const withinSeconds = 40;

describeCluster('a VM pod that somebody else deletes while jobs write to its disks', (world) => {
  test('kubectl delete pod', () =>
    endsWhole(world(), { classes, withinSeconds, end: (vm) => world().kubectl('delete', 'pod', vm) }));

  test('an eviction', () => endsWhole(world(), { classes, withinSeconds, end: (vm) => evict(world(), vm) }));

  test('kubectl drain: the attachments are evicted with the VM, and it ends', async () => {
    let node = '';
    try {
      await endsWhole(world(), {
        ...{ classes, withinSeconds },
        end: async (vm) => {
          node = (await world().nodeOf(vm)).name;
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

  test('deleted by force: the attachment finds out by itself and lets go', () =>
    endsWhole(world(), {
      classes: ['loop'],
      // it lets go at the pod's preStop hook or, where none ran, when no process of it has been there for 30 s
      withinSeconds: withinSeconds + 30,
      end: (vm) => deleteByForce(world(), vm),
    }));
});
