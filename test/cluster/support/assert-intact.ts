import assert from 'node:assert/strict';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { claimReference, type PersistentVolumeClaim } from '../../../src/cpi/disk/disks.ts';
import { deleteDisk } from '../../../src/cpi/disk/delete-disk.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';

/**
 * Counts the lines of the log, and those that count from 1 without a gap, so that lost and duplicate writes
 * are visible.
 */
const countLines = `wc -l < log && awk '$1 != NR { exit } { good = NR } END { print good + 0 }' log`;

/**
 * Attaches the disks to another VM, asserts that each has what its job had synced, and deletes them. A copy
 * has what the job of another disk wrote; `originOf` names that disk.
 */
export async function assertIntact(
  world: ClusterWorld,
  disks: readonly string[],
  vmOptions: NewVm = {},
  originOf = (disk: string): string => disk,
): Promise<void> {
  const vm = await world.newVm(vmOptions);
  for (const disk of disks) {
    const hint = await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await assertIntactIn(world, { vm, disk, hint, origin: originOf(disk) });
  }
  await deleteVm(world.cloud, { vmCid: vm });
  for (const disk of disks) await deleteDisk(world.cloud, { diskCid: disk });
}

/**
 * Asserts that a disk which is attached to that VM, and whose job has ended, has what the job had synced, and
 * that its driver reports no violation.
 */
export async function assertIntactIn(
  world: ClusterWorld,
  { vm, disk, hint, origin = disk }: { vm: string; disk: string; hint: string; origin?: string },
): Promise<void> {
  world.acknowledged.end(origin);
  const { stdout, stderr } = await world.exec(vm, `cd ${hint} && cat canary && ${countLines}`);
  const [canary, written, inOrder] = stdout.trim().split('\n');
  assert.equal(canary, origin, `the disk has lost its content: ${stdout}${stderr}`);
  // Data after the last complete line was not synced.
  assert.equal(inOrder, written, `the disk is damaged: ${inOrder} of ${written} lines are in order`);
  const acknowledged = Math.max(1, world.acknowledged.linesOf(origin));
  assert.ok(
    Number(written) >= acknowledged,
    `the disk has lost data: ${written} of ${acknowledged} synced lines`,
  );
  assert.deepEqual(await violationsOf(world, disk), [], 'the volume was harmed');
}

async function violationsOf(world: ClusterWorld, disk: string): Promise<readonly string[]> {
  const claim = await world.api.get<PersistentVolumeClaim>(claimReference(world.cloud, disk));
  return world.cluster.violations(claim.spec.volumeName ?? '');
}

const harm = /the disk has lost|the disk is damaged|the volume was harmed/u;

/**
 * Returns true if the error is that of a data-survival test for lost or damaged data. Fails with the error
 * itself otherwise.
 */
export function isDataLoss(error: unknown): boolean {
  assert.ok(error instanceof assert.AssertionError, String(error));
  assert.match(error.message, harm);
  return true;
}
