import assert from 'node:assert/strict';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import type { CallContext } from '../../../src/cpi/call.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { deleteDisk } from '../../../src/cpi/disk/delete-disk.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { claimReference, type PersistentVolumeClaim } from '../../../src/cpi/disk/disks.ts';
import { createDisk } from '../../../src/cpi/disk/create-disk.ts';

export interface WritingVm {
  readonly vm: string;
  readonly disks: readonly string[];
}

/** attach_disk, or a function that calls it. */
type Attach = (cloud: CallContext, vm: string, disk: string) => Promise<string>;

/** How a disk is created and attached. */
export interface DiskCreation {
  /** The default is attach_disk. */
  readonly attach?: Attach;
  /** Calls create_disk for that VM, if the disk needs more than a class. */
  readonly create?: (vm: string) => Promise<string>;
}

export const storeOf = (index: number): string =>
  index === 0 ? '/var/vcap/store' : `/var/vcap/store-${index}`;

/**
 * Creates a VM with one disk per class, mounted as the agent does it. Each disk has a canary file and a job
 * that appends numbered lines and syncs each.
 */
export async function createWritingVm(
  world: ClusterWorld,
  classes: readonly DiskClass[],
  vmOptions: NewVm = {},
  coming: DiskCreation = {},
): Promise<WritingVm> {
  const { cloud } = vmOptions;
  const vm = await world.newVm(vmOptions);
  const disks: string[] = [];
  for (const [index, storageClass] of classes.entries())
    disks.push(await fillNewDisk(world, vm, { ...coming, storageClass, mountPoint: storeOf(index), cloud }));
  for (const index of disks.keys()) await startWriting(world, vm, storeOf(index));
  return { vm, disks };
}

interface NewDiskAt extends DiskCreation {
  readonly storageClass: DiskClass;
  readonly mountPoint: string;
  readonly cloud: CallContext | undefined;
}

/**
 * Creates a disk, attaches it to a VM, mounts it as the agent does and writes a canary file. Returns its cid.
 */
export async function fillNewDisk(
  world: ClusterWorld,
  vm: string,
  { storageClass, mountPoint, cloud = world.cloud, attach, create }: NewDiskAt,
): Promise<string> {
  const disk = await (create?.(vm) ?? world.newDisk(storageClass));
  const hint = await (attach?.(cloud, vm, disk) ?? attachDisk(cloud, { vmCid: vm, diskCid: disk }));
  await world.inVm(
    vm,
    `mkdir -p ${mountPoint} && mount --bind ${hint} ${mountPoint} && echo ${disk} > ${mountPoint}/canary && sync -f ${mountPoint}`,
  );
  return disk;
}

/**
 * Returns the files of a job outside of its disk: the pid of its process group, and the number of the last
 * line on the disk.
 */
const filesOf = (mountPoint: string): { readonly pid: string; readonly acknowledged: string } => {
  const name = mountPoint.replaceAll('/', '-');
  return { pid: `/tmp/pid${name}`, acknowledged: `/tmp/acknowledged${name}` };
};

/**
 * Starts the job on the disk with that canary. Resolves when some lines are written and synced. The job ends
 * at the first write that fails.
 */
export async function startWriting(world: ClusterWorld, vm: string, mountPoint: string): Promise<void> {
  const { pid, acknowledged } = filesOf(mountPoint);
  const disk = await world.inVm(
    vm,
    `(cd ${mountPoint} && exec setsid sh -c 'i=$(wc -l < log 2>/dev/null || echo 0)
      while i=$((i + 1)); echo $i >> log && sync -d log; do echo $i >> ${acknowledged}; sleep 0.1; done') > /dev/null 2>&1 &
     echo $! > ${pid}; cat ${mountPoint}/canary`,
  );
  await followWrites(world, vm, { disk: disk.trim(), file: acknowledged });
}

/** Ends a job that is still running, and unmounts its disk. */
export async function stopWriting(world: ClusterWorld, vm: string, mountPoint: string): Promise<void> {
  const { pid, acknowledged } = filesOf(mountPoint);
  // This ends the shell and also its sync(1), whose working directory is on the disk.
  const output = await world.inVm(
    vm,
    `group=$(cat ${pid}); kill -9 -$group || { echo "the job has ended before"; exit 1; }
     while kill -0 -$group 2>/dev/null; do sleep 0.05; done
     cat ${mountPoint}/canary && tail -n 1 ${acknowledged} && umount ${mountPoint}`,
  );
  const [disk = '', lines] = output.trim().split('\n');
  world.acknowledged.record(disk, Number(lines));
  world.acknowledged.end(disk);
}

/** Waits until the job has written more lines, which shows that it has survived. */
export async function assertWritesOn(world: ClusterWorld, vm: string, mountPoint: string): Promise<void> {
  const { acknowledged } = filesOf(mountPoint);
  const last = `$(tail -n 1 ${acknowledged})`;
  const lines = Number(await world.inVm(vm, `echo ${last}`));
  await world.untilInVm(vm, `test ${last} -gt ${lines + linesToFollow}`);
}

interface FilledDisk {
  readonly vm: string;
  readonly disk: string;
  readonly hint: string;
}

/** Creates a VM with an attached disk, whose file `canary` contains the disk's cid. */
export async function filledDisk(world: ClusterWorld, storageClass: DiskClass): Promise<FilledDisk> {
  const vm = await world.newVm();
  const disk = await world.newDisk(storageClass);
  const hint = await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
  await world.inVm(vm, `echo ${disk} > ${hint}/canary && sync -f ${hint}`);
  return { vm, disk, hint };
}

/** Attaches the disk if necessary and asserts that it has the expected content, by default its own cid. */
export async function assertCanary(
  world: ClusterWorld,
  { vm, disk }: Pick<FilledDisk, 'vm' | 'disk'>,
  written = disk,
): Promise<void> {
  const hint = await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
  const { stdout, stderr } = await world.exec(vm, `cat ${hint}/canary`);
  assert.equal(stdout, `${written}\n`, `the disk has lost its content: ${stdout}${stderr}`);
}

export async function endDisk(
  world: ClusterWorld,
  { vm, disk }: Pick<FilledDisk, 'vm' | 'disk'>,
): Promise<void> {
  await deleteVm(world.cloud, { vmCid: vm });
  await deleteDisk(world.cloud, { diskCid: disk });
}

/** Creates a disk for a VM. Only one pod may use its claim. */
export async function diskForOnePod(world: ClusterWorld, vm: string): Promise<string> {
  const properties = { ...world.diskProperties('loop'), access_mode: 'ReadWriteOncePod' };
  const disk = await createDisk(world.cloud, { sizeMiB: 32, cloudProperties: properties, vmCid: vm });
  const { spec } = await world.api.get<PersistentVolumeClaim>(claimReference(world.cloud, disk));
  assert.deepEqual(spec.accessModes, ['ReadWriteOncePod']);
  return disk;
}

/** How many lines a job must write and sync before a test continues. */
const linesToFollow = 10;

/**
 * Follows a file in a VM, outside of its disk, in which the job reports its lines. Resolves when the job has
 * written some more lines.
 */
export async function followWrites(
  world: ClusterWorld,
  vm: string,
  { disk, file }: { readonly disk: string; readonly file: string },
): Promise<void> {
  // Sends the lines of 200 ms in one write, because each write passes a shim, containerd, a kubelet and the
  // API server.
  const tail = 'exec tail -n 1 -f -s 0.2 ---disable-inotify';
  const follow = `until test -s ${file}; do sleep 0.1; done; ${tail} ${file}`;
  const args = ['exec', vm, '--container', 'bosh', '--', '/bin/sh', '-c', follow];
  await world.acknowledged.follow({ disk, command: world.kubectlCommand(args) }, linesToFollow);
}
