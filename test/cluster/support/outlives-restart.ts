import assert from 'node:assert/strict';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import type { CallContext } from '../../../src/cpi/call.ts';
import { isProductError } from '../../../src/errors/product-error.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { interrupted } from './interrupted.ts';
import type { DiskSubject } from './disk-subject.ts';
import { type DetachedInUse, outlivesDetach } from './outlives-detach.ts';

/** The programs of a node that are killed and started again. */
export const restartedPrograms = ['kubelet', 'containerd'] as const;

/**
 * Kills a program of the node during attach_disk, during a detach_disk while the job writes, and during one
 * after it. All calls must converge, and the disk must be intact on another node afterwards.
 */
export async function outlivesRestart(
  world: ClusterWorld,
  program: (typeof restartedPrograms)[number],
  vmOptions: NewVm = {},
): Promise<DetachedInUse> {
  const restartBelow = (vm: string) => async (): Promise<void> => {
    await (await world.nodeOf(vm)).restart(program);
    // A healthy kubelet has the status of its pods a second later, and calls a new containerd when its
    // back-off has ended.
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
        // Calls to the mount container go through both programs. If it was unreachable for too long, the disk
        // is still attached.
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
        // From here on no exec is necessary, so nothing may fail.
        await detach('end requested');
        assert.equal(await world.isThere(attachment), false);
      },
    },
    vmOptions,
  );
}

/**
 * Retries until the error names the process that uses the disk. An earlier error may only say that the mount
 * container was unreachable.
 */
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
