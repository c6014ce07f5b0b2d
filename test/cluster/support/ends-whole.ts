import assert from 'node:assert/strict';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { assertWhole, writingVm } from './disk-subject.ts';

export interface EndOfVm {
  /** Of the disks, one each. */
  readonly classes: readonly DiskClass[];
  /** Has the VM's pod end while jobs write to its disks. */
  readonly end: (vm: string) => Promise<unknown>;
  /** How long its pod may be there after that. */
  readonly withinSeconds: number;
}

/** A VM pod ends by somebody else's hand while jobs write: it is gone soon, and its disks are whole on another node. */
export async function endsWhole(
  world: ClusterWorld,
  { classes, end, withinSeconds }: EndOfVm,
  vmOptions: NewVm = {},
): Promise<void> {
  const { vm, disks } = await writingVm(world, classes, vmOptions);
  const other = await world.otherNode(vm);
  const start = Date.now();
  await end(vm);
  await world.untilGone(vm);
  const seconds = (Date.now() - start) / 1000;
  assert.ok(seconds < withinSeconds, `the pod was there ${seconds} s after it was asked to go`);
  await deleteVm(world.cloud, [vm]);
  for (const disk of disks) await world.untilGone(`attach-${disk}`);
  await assertWhole(world, disks, { node: other });
}
