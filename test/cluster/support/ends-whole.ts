import assert from 'node:assert/strict';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { until } from '../../support/until.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { freeHub } from './free-hub.ts';
import { assertWhole } from './assert-whole.ts';
import { writingVm } from './disk-subject.ts';

export interface EndOfVm {
  /** The classes of the disks, one each. */
  readonly classes: readonly DiskClass[];
  /** Ends the VM's pod while jobs write to its disks. */
  readonly end: (vm: string) => Promise<unknown>;
  /** Seconds that the VM may take to end and its attachment pods to unmount its disks. */
  readonly withinSeconds: number;
}

/**
 * Ends a VM's pod from outside while jobs write. Asserts that it ends soon and that its disks are intact on
 * another node.
 */
export async function endsWhole(
  world: ClusterWorld,
  { classes, end, withinSeconds }: EndOfVm,
  vmOptions: NewVm = {},
): Promise<void> {
  const { vm, disks } = await writingVm(world, classes, vmOptions);
  const other = await world.otherNode(vm);
  // The nodes of a foreign cluster are not accessible.
  const isFree = world.cluster.nodes.length > 0 ? await freeHub(world, vm) : () => Promise.resolve(true);
  const start = Date.now();
  const seconds = (): number => (Date.now() - start) / 1000;
  const free = until('the hub to be free', isFree, withinSeconds * 1000 + 60_000).then(seconds);
  const [freeAfter] = await Promise.all([free, end(vm)]);
  assert.ok(freeAfter < withinSeconds, `its disks were in it ${freeAfter} s after it was asked to go`);
  // A kubelet that found a disk mounted in the hub tries again with exponential back-off: each delay is twice
  // the previous one.
  const goneWithin = 2 * withinSeconds + 20;
  await world.untilGone(vm, goneWithin * 1000);
  assert.ok(seconds() < goneWithin, `the pod was there ${seconds()} s after it was asked to go`);
  await deleteVm(world.cloud, [vm]);
  for (const disk of disks) await world.untilGone(`attach-${disk}`);
  await assertWhole(world, disks, { node: other });
}
