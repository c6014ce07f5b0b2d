import { test } from 'node:test';
import { deleteByForce } from './support/delete-by-force.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { endsWhole } from './support/ends-whole.ts';
import { evict } from './support/evict.ts';
import { silentEnd, weakenedCloud } from './support/weakened-cloud.ts';
import { withoutNodes } from './test-cluster.ts';

const classes = ['loop', 'loop-wait'] as const;
/** The pod's own grace (30 s), a few seconds, and what a busy node takes for them. */
const withinSeconds = 50;

describeCluster('a VM pod that somebody else deletes while jobs write to its disks', (world) => {
  test('kubectl delete pod', () =>
    endsWhole(world(), { classes, withinSeconds, end: (vm) => world().kubectl('delete', 'pod', vm) }));

  test('an eviction', () => endsWhole(world(), { classes, withinSeconds, end: (vm) => evict(world(), vm) }));

  test('deleted by force: the attachment finds out by itself and lets go', withoutNodes, () =>
    endsWhole(world(), {
      classes: ['loop'],
      // it lets go at the pod's preStop hook or, where none ran, when no process of it has been there for 30 s
      withinSeconds: withinSeconds + 30,
      end: (vm) => deleteByForce(world(), vm),
    }),
  );

  test(
    'no hook tells the attachment: it finds out by the processes of the VM, and lets go',
    withoutNodes,
    async () => {
      const silent = weakenedCloud(world().cloud, [silentEnd]);
      const end = (vm: string): Promise<string> => world().kubectl('delete', 'pod', vm, '--wait=false');
      // none of them has been there for 30 s, looked for every 10
      const ends = { classes, withinSeconds: withinSeconds + 60, end };
      await endsWhole(world(), ends, { cloud: silent.cloud });
      silent.assertUsed();
    },
  );
});
