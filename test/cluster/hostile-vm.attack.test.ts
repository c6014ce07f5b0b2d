import assert from 'node:assert/strict';
import * as hostile from '../support/hostile-vm.ts';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { profiles } from '../../src/cpi/config/profile.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { withoutStemcell } from './support/open-cluster.ts';

/**
 * Root of a VM, and a user of its jobs, attack the attachment pod of the VM's disk. For the embedded node:
 * src/cpi/hostile-vm.attack.test.ts.
 */
describeCluster('a hostile VM', (world) => {
  const run = (vm: string, script: string, ...args: string[]): Promise<string> =>
    world().inVm(vm, `set -- ${args.join(' ')}\n${script}`);
  const refused = (error: unknown): boolean => {
    assert.ok(isProductError(error, 'DISK_NOT_ATTACHABLE'), String(error));
    assert.match(error.message, /is no directory of root/u);
    return true;
  };

  for (const profile of profiles) {
    const skip = profile === 'baseline' && withoutStemcell('baseline');
    test(
      `${profile}: links and moves in the hub lead no mount and no program of the attachment elsewhere`,
      { skip },
      async () => {
        const { cloud, cluster } = world();
        const { image } = profile === 'baseline' ? await cluster.stemcellFor('baseline') : cluster.stemcell;
        const vm = await world().newVm({ image, properties: { profile } });
        const disk = await world().newDisk();
        const hint = await attachDisk(cloud, { vmCid: vm, diskCid: disk });
        await run(vm, hostile.fillWithPrograms, hint);
        await detachDisk(cloud, { vmCid: vm, diskCid: disk });
        for (const link of [hostile.linkEntry, hostile.linkDisks]) {
          await run(vm, link, disk, '/usr/bin');
          await assert.rejects(attachDisk(cloud, { vmCid: vm, diskCid: disk }), refused);
          await run(vm, hostile.assertNotOwned);
          await run(vm, hostile.removeLinks);
        }
        await run(vm, hostile.race, disk, '/usr/bin');
        for (let remaining = 3; remaining > 0; remaining -= 1) {
          await attachDisk(cloud, { vmCid: vm, diskCid: disk }).catch((error: unknown) => {
            if (!isProductError(error)) throw error;
          });
          await run(vm, hostile.assertNotOwned);
          await detachDisk(cloud, { vmCid: vm, diskCid: disk }).catch((error: unknown) => {
            if (!isProductError(error)) throw error;
          });
        }
        await run(vm, hostile.stopRace);
        await run(vm, hostile.assertNotOwned);
        await deleteVm(cloud, { vmCid: vm });
        await deleteDisk(cloud, { diskCid: disk });
      },
    );
  }

  test("a job user cannot change root's files in the hub, on the data volume or on the disk", async () => {
    const { cloud } = world();
    const vm = await world().newVm();
    const disk = await world().newDisk();
    await attachDisk(cloud, { vmCid: vm, diskCid: disk });
    for (const attempt of hostile.attemptsOfJobUser) {
      const asUser = `setpriv --reuid 1000 --regid 1000 --clear-groups sh -c '${attempt}' 2> /dev/null`;
      assert.notEqual((await world().exec(vm, asUser)).exitCode, 0, attempt);
    }
    await deleteVm(cloud, { vmCid: vm });
    await deleteDisk(cloud, { diskCid: disk });
  });
});
