import assert from 'node:assert/strict';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import type { CallContext } from '../../../src/cpi/cloud.ts';
import { isProductError } from '../../../src/errors/product-error.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { interrupted } from './interrupted.ts';
import type { DiskSubject } from './disk-subject.ts';
import { type DetachedInUse, outlivesDetach } from './outlives-detach.ts';

/** What is killed on a node and started again. */
export const restartedPrograms = ['kubelet', 'containerd'] as const;

/**
 * A program of the node is killed in the middle of attach_disk, of a detach_disk while the job writes, and of one after it:
 * all converge, and the disk is whole on another node.
 */
export async function outlivesRestart(
  world: ClusterWorld,
  program: (typeof restartedPrograms)[number],
  vmOptions: NewVm = {},
): Promise<DetachedInUse> {
  const restartBelow = (vm: string) => async (): Promise<void> => {
    await (await world.nodeOf(vm)).restart(program);
    // a kubelet that is healthy learns of its pods a second later, and calls a new containerd when its back-off is over
    await world.untilInVm(vm, 'true');
  };
  const { cloud: used = world.cloud } = vmOptions;
  return outlivesDetach(
    world,
    {
      attach: (cloud, vm, disk) =>
        interrupted(cloud, { moment: 'pod made', action: restartBelow(vm) }, (each) =>
          attachDisk(each, [vm, disk]),
        ),
      ask: (cloud, { vm, disks: [disk = ''] }) =>
        interrupted(cloud, { moment: 'holder asked', action: restartBelow(vm) }, (each) =>
          detachDisk(each, [vm, disk]),
        ),
      refused: (subject) => untilRefusedAsInUse(used, subject),
      detach: async ({ vm, disks: [disk = ''] }) => {
        const detach = (moment: 'holder asked' | 'end requested'): Promise<null> =>
          interrupted(world.cloud, { moment, action: restartBelow(vm) }, (each) =>
            detachDisk(each, [vm, disk]),
          );
        const attachment = world.podReference(`attach-${disk}`);
        // the holder is spoken to through both programs: where it was out of reach for too long the disk is still attached
        const failure = await detach('holder asked').then(
          () => undefined,
          (error: unknown) => error,
        );
        if (failure !== undefined) {
          assert.ok(isProductError(failure, 'DISK_BUSY'), failure instanceof Error ? failure.message : '');
          assert.ok(await world.isThere(attachment));
        } else {
          await attachDisk(world.cloud, [vm, disk]);
        }
        // from here on nobody has to be asked, so nothing may fail
        await detach('end requested');
        assert.equal(await world.isThere(attachment), false);
      },
    },
    vmOptions,
  );
}

/** One refusal may say that the holder could not be asked: this is for the one that says who uses the disk. */
async function untilRefusedAsInUse(
  cloud: CallContext,
  { vm, disks: [disk = ''] }: DiskSubject,
): Promise<void> {
  await until('detach_disk to be refused for what uses the disk', async () => {
    const refusal = await detachDisk(cloud, [vm, disk]).catch((error: unknown) => error);
    assert.ok(isProductError(refusal, 'DISK_BUSY'), `detach_disk came to ${String(refusal)}`);
    return /it was in use for \d+ s \(process \d+ has it mounted at/u.test(refusal.message);
  });
}
