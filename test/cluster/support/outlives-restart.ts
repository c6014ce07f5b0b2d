import assert from 'node:assert/strict';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { isProductError } from '../../../src/errors/product-error.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { interrupted } from './interrupted.ts';
import { type DetachedInUse, outlivesDetach } from './outlives-detach.ts';

/** What is killed on a node and started again. */
export const restartedPrograms = ['kubelet', 'containerd'] as const;

/**
 * A program of the node is killed in the middle of attach_disk, and again in the middle of detach_disk: both converge, and the
 * disk is whole on another node.
 */
export async function outlivesRestart(
  world: ClusterWorld,
  program: (typeof restartedPrograms)[number],
  vmOptions: NewVm = {},
): Promise<DetachedInUse> {
  const restartBelow = (vm: string) => async (): Promise<void> => (await world.nodeOf(vm)).restart(program);
  return outlivesDetach(
    world,
    {
      attach: (cloud, vm, disk) =>
        interrupted(cloud, { moment: 'pod made', action: restartBelow(vm) }, (each) =>
          attachDisk(each, [vm, disk]),
        ),
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
