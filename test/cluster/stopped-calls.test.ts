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

const place = storeOf(0);

describeCluster(
  'calls of the built CPI whose process is stopped in their middle',
  (world) => {
    before(() => makeCpiAccount(world()));

    test('recreate: attach_disk, which waited for a pod, makes none with a disk that another VM has by now', () =>
      withTwoVms(world(), stopAttach));

    test('recreate: detach_disk, which waited for a pod, leaves the VM a disk that was attached to it again', () =>
      withTwoVms(world(), stopDetach));

    test(
      'hot: detach_disk, whose attachment is deleted by force, does not say that a disk in use is detached',
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
      await fillNewDisk(world, vm, { storageClass: 'loop', place, cloud, ...coming });
      await startWriting(world, vm, place);
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
  await assertWritesOn(world, vm, place);
  await stopWriting(world, vm, place);
  await assertIntactIn(world, { vm, disk, hint: `${hubPath}/disks/${disk}/store` });
}
