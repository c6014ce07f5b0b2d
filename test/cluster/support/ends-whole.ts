import assert from 'node:assert/strict';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { until } from '../../support/until.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { freeHub } from './free-hub.ts';
import { assertWhole } from './assert-whole.ts';
import { writingVm } from './disk-subject.ts';

export interface EndOfVm {
  /** Of the disks, one each. */
  readonly classes: readonly DiskClass[];
  /** Has the VM's pod end while jobs write to its disks. */
  readonly end: (vm: string) => Promise<unknown>;
  /** How long the VM may take to end, and its attachments to let go of its disks. */
  readonly withinSeconds: number;
}

/** A VM pod ends by somebody else's hand while jobs write: it ends soon, and its disks are whole on another node. */
export async function endsWhole(
  world: ClusterWorld,
  { classes, end, withinSeconds }: EndOfVm,
  vmOptions: NewVm = {},
): Promise<void> {
  const { vm, disks } = await writingVm(world, classes, vmOptions);
  const other = await world.otherNode(vm);
  // nodes of somebody else's cluster cannot be looked at
  const isFree = world.cluster.nodes.length > 0 ? await freeHub(world, vm) : () => Promise.resolve(true);
  const start = Date.now();
  const seconds = (): number => (Date.now() - start) / 1000;
  const free = until('the hub to be free', isFree, withinSeconds * 1000 + 60_000).then(seconds);
  const [freeAfter] = await Promise.all([free, end(vm)]);
  assert.ok(freeAfter < withinSeconds, `its disks were in it ${freeAfter} s after it was asked to go`);
  // A kubelet that found a disk in its way tries again after as long as it has tried by then: each pause is twice the former.
  const goneWithin = 2 * withinSeconds + 20;
  await world.untilGone(vm, goneWithin * 1000);
  assert.ok(seconds() < goneWithin, `the pod was there ${seconds()} s after it was asked to go`);
  await deleteVm(world.cloud, [vm]);
  for (const disk of disks) await world.untilGone(`attach-${disk}`);
  await assertWhole(world, disks, { node: other });
}
