import assert from 'node:assert/strict';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import type { Cloud } from '../../../src/cpi/cloud.ts';
import { deleteDisk } from '../../../src/cpi/disk/delete-disk.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { claimReference, type PersistentVolumeClaim } from '../../../src/cpi/disk/claim.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';

export interface DiskSubject {
  readonly vm: string;
  readonly disks: readonly string[];
}

/** attach_disk, or what calls it. */
export type Attach = (cloud: Cloud, vm: string, disk: string) => Promise<string>;

export const storeOf = (index: number): string =>
  index === 0 ? '/var/vcap/store' : `/var/vcap/store-${index}`;

/**
 * A VM with a disk of each class, bound as the agent binds it, and on each a canary and a job that appends numbered
 * lines and syncs each.
 */
export async function writingVm(
  world: ClusterWorld,
  classes: readonly DiskClass[],
  vmOptions: NewVm = {},
  attach: Attach = (cloud, vm, disk) => attachDisk(cloud, [vm, disk]),
): Promise<DiskSubject> {
  const { cloud = world.cloud } = vmOptions;
  const vm = await world.newVm(vmOptions);
  const disks: string[] = [];
  for (const [index, storageClass] of classes.entries()) {
    const disk = await world.newDisk(storageClass);
    const hint = await attach(cloud, vm, disk);
    const place = storeOf(index);
    await world.inVm(
      vm,
      `mkdir -p ${place} && mount --bind ${hint} ${place} && echo ${disk} > ${place}/canary && sync -f ${place}`,
    );
    disks.push(disk);
  }
  for (const index of disks.keys()) await startWriting(world, vm, storeOf(index));
  return { vm, disks };
}

/** What of a job is outside of its disk: the pid of its group, and the number of the last line that is on the disk. */
const filesOf = (place: string): { readonly pid: string; readonly acknowledged: string } => {
  const name = place.replaceAll('/', '-');
  return { pid: `/tmp/pid${name}`, acknowledged: `/tmp/acknowledged${name}` };
};

const linesBeforeTheEnd = 20;

/**
 * Starts the job on the disk with that canary; resolves when some lines are written and synced. It ends at the first write
 * that fails.
 */
export async function startWriting(world: ClusterWorld, vm: string, place: string): Promise<void> {
  const { pid, acknowledged } = filesOf(place);
  const disk = await world.inVm(
    vm,
    `(cd ${place} && exec setsid sh -c 'i=$(wc -l < log 2>/dev/null || echo 0)
      while i=$((i + 1)); echo $i >> log && sync -d log; do echo $i >> ${acknowledged}; sleep 0.02; done') > /dev/null 2>&1 &
     echo $! > ${pid}; cat ${place}/canary`,
  );
  // what came in 50 ms by one write: each passes a shim, containerd, a kubelet and the API server
  const tail = 'exec tail -n 1 -f -s 0.05 ---disable-inotify';
  const follow = `until test -s ${acknowledged}; do sleep 0.1; done; ${tail} ${acknowledged}`;
  const words = ['exec', vm, '--container', 'bosh', '--', '/bin/sh', '-c', follow];
  await world.acknowledged.follow(
    { disk: disk.trim(), command: world.kubectlCommand(words) },
    linesBeforeTheEnd,
  );
}

/** Ends a job that is still at work, and unmounts its disk. */
export async function stopWriting(world: ClusterWorld, vm: string, place: string): Promise<void> {
  const { pid, acknowledged } = filesOf(place);
  // with the shell its sync(1), which stands in the folder, too
  const said = await world.inVm(
    vm,
    `group=$(cat ${pid}); kill -9 -$group || { echo "the job has ended before"; exit 1; }
     while kill -0 -$group 2>/dev/null; do sleep 0.05; done
     cat ${place}/canary && tail -n 1 ${acknowledged} && umount ${place}`,
  );
  const [disk = '', lines] = said.trim().split('\n');
  world.acknowledged.hear(disk, Number(lines));
  world.acknowledged.end(disk);
}

/** Waits until the job has written on: it has outlived whatever happened before. */
export async function assertWritesOn(world: ClusterWorld, vm: string, place: string): Promise<void> {
  const { acknowledged } = filesOf(place);
  const last = `$(tail -n 1 ${acknowledged})`;
  const lines = Number(await world.inVm(vm, `echo ${last}`));
  await world.untilInVm(vm, `test ${last} -gt ${lines + linesBeforeTheEnd}`);
}

/** How many lines the log has, and how many of them count from 1 without a gap: a lost or doubled write shows. */
const countLines = `wc -l < log && awk '$1 != NR { exit } { good = NR } END { print good + 0 }' log`;

/** Another VM gets the disks, and finds on each what its job had synced; then all are deleted. */
export async function assertWhole(
  world: ClusterWorld,
  disks: readonly string[],
  vmOptions: NewVm = {},
): Promise<void> {
  const vm = await world.newVm(vmOptions);
  for (const disk of disks) {
    world.acknowledged.end(disk);
    const hint = await attachDisk(world.cloud, [vm, disk]);
    const { stdout, stderr } = await world.exec(vm, `cd ${hint} && cat canary && ${countLines}`);
    const [canary, written, inOrder] = stdout.trim().split('\n');
    assert.equal(canary, disk, `the disk has lost its content: ${stdout}${stderr}`);
    // what follows the last whole line was not synced
    assert.equal(inOrder, written, `the disk is damaged: ${inOrder} of ${written} lines are in order`);
    const acknowledged = Math.max(1, world.acknowledged.linesOf(disk));
    assert.ok(
      Number(written) >= acknowledged,
      `the disk has lost data: ${written} of ${acknowledged} synced lines`,
    );
    assert.deepEqual(await violationsOf(world, disk), [], 'the volume was harmed');
  }
  await deleteVm(world.cloud, [vm]);
  for (const disk of disks) await deleteDisk(world.cloud, [disk]);
}

async function violationsOf(world: ClusterWorld, disk: string): Promise<readonly string[]> {
  const claim = await world.api.get<PersistentVolumeClaim>(claimReference(world.cloud, disk));
  return world.cluster.violations(claim.spec.volumeName ?? '');
}
