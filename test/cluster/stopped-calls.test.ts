import { before, test } from 'node:test';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { hubPath } from '../../src/cpi/objects/layout.ts';
import { stopAttach, stopDetach, stopRelease, type TwoVms } from '../support/stopped-calls.ts';
import { assertIntactIn } from './support/assert-intact.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { deleteAttachmentByForce } from './support/vm-actions.ts';
import { describeCluster } from './support/describe-cluster.ts';
import {
  assertWritesOn,
  fillNewDisk,
  startWriting,
  stopWriting,
  storeOf,
  createWritingVm,
} from './support/disk-setup.ts';
import { makeCpiAccount, withStoppedCpi } from './support/with-stopped-cpi.ts';
import { withoutNodes } from './test-cluster.ts';

const mountPoint = storeOf(0);

describeCluster(
  'calls of the built CPI whose process is stopped in their middle',
  (world) => {
    before(() => makeCpiAccount(world()));

    test('recreate: attach_disk that waited for a pod creates none with a disk that another VM has meanwhile', () =>
      withTwoVms(world(), stopAttach));

    test('recreate: detach_disk that waited for a pod keeps a disk that was attached to the VM again', () =>
      withTwoVms(world(), stopDetach));

    test(
      'hot: detach_disk whose attachment pod is deleted by force does not report a disk in use as detached',
      withoutNodes,
      () =>
        withStoppedCpi(world(), async (cpi) => {
          const { vm, disks } = await createWritingVm(world(), ['loop']);
          const [disk = ''] = disks;
          await stopRelease(cpi, { vm, disk }, (attachment) => deleteAttachmentByForce(world(), attachment));
          await survivesVmDeletion(world(), vm, disk);
          await cpi.call('detach_disk', vm, disk);
          await deleteVm(world().cloud, { vmCid: vm });
          await deleteDisk(world().cloud, { diskCid: disk });
        }),
    );
  },
  { concurrency: 3 },
);

/** The job of the VM that has the disk in the end must never stop. */
function withTwoVms(world: ClusterWorld, stop: (vms: TwoVms) => Promise<void>): Promise<void> {
  return withStoppedCpi(world, async (cpi) => {
    const { api, namespace } = world;
    const cloud = world.cloudWith({ attach: 'recreate' });
    const [one = '', other = ''] = await Promise.all([1, 2].map(() => world.newVm({ cloud })));
    const disk = await world.newDisk();
    let user = '';
    const use = async (vm: string, hint: string): Promise<void> => {
      const coming = { attach: () => Promise.resolve(hint), create: () => Promise.resolve(disk) };
      await fillNewDisk(world, vm, { storageClass: 'loop', mountPoint, cloud, ...coming });
      await startWriting(world, vm, mountPoint);
      user = vm;
    };
    await stop({ api, namespace, cpi, one, other, disk, use });
    await survivesVmDeletion(world, user, disk);
    await Promise.all([one, other].map((vm) => deleteVm(cloud, { vmCid: vm })));
    await deleteDisk(cloud, { diskCid: disk });
  });
}

/** Asserts that the job has continued and that everything it wrote is there. */
async function survivesVmDeletion(world: ClusterWorld, vm: string, disk: string): Promise<void> {
  await assertWritesOn(world, vm, mountPoint);
  await stopWriting(world, vm, mountPoint);
  await assertIntactIn(world, { vm, disk, hint: `${hubPath}/disks/${disk}/store` });
}
