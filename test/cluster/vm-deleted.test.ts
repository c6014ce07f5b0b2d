import { test } from 'node:test';
import { deleteByForce, evict } from './support/vm-actions.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { survivesVmDeletion } from './support/detach-scenarios.ts';
import { silentEnd, cpiWithoutGuards } from './support/cpi-without-guards.ts';
import { withoutNodes } from './test-cluster.ts';

const classes = ['loop', 'loop-wait'] as const;
/** The pod's grace period (30 s), a few seconds, and the time that a busy node needs for them. */
const withinSeconds = 50;

describeCluster('a VM pod that another program deletes while jobs write to its disks', (world) => {
  test('kubectl delete pod', () =>
    survivesVmDeletion(world(), {
      classes,
      withinSeconds,
      end: (vm) => world().kubectl('delete', 'pod', vm),
    }));

  test('an eviction', () =>
    survivesVmDeletion(world(), { classes, withinSeconds, end: (vm) => evict(world(), vm) }));

  test('a force-deleted VM: the attachment pod unmounts its disk by itself', withoutNodes, () =>
    survivesVmDeletion(world(), {
      classes: ['loop'],
      // The mount container unmounts on the pod's preStop hook. If no hook ran, it unmounts when no process
      // of the VM has existed for 30 s.
      withinSeconds: withinSeconds + 30,
      end: (vm) => deleteByForce(world(), vm),
    }),
  );

  test(
    'without a preStop hook the attachment pod unmounts when the VM has no more processes',
    withoutNodes,
    async () => {
      const silent = cpiWithoutGuards(world().cloud, [silentEnd]);
      const end = (vm: string): Promise<string> => world().kubectl('delete', 'pod', vm, '--wait=false');
      // No process of the VM has existed for 30 s, with a check every 10 s.
      const ends = { classes, withinSeconds: withinSeconds + 60, end };
      await survivesVmDeletion(world(), ends, { cloud: silent.cloud });
      silent.assertUsed();
    },
  );
});
