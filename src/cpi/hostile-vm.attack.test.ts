import assert from 'node:assert/strict';
import * as hostile from '../../test/support/hostile-vm.ts';
import { after, before, test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { describeInOneNamespace, namespaceMode } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { isProductError } from '../errors/product-error.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { embeddedVms } from './testing/embedded-vms.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { deleteVm } from './vm/delete-vm.ts';
import { profiles } from './config/profile.ts';

/**
 * Root of a VM against the attachment of its disk, on the embedded node. On a real kubelet:
 * test/cluster/hostile-vm.attack.test.ts.
 */
describeInOneNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  const { newVm, newDisk } = embeddedVms(() => world, '127.64.23');

  before(async () => {
    world = await EmbeddedWorld.start();
  });
  after(async () => {
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  const inVm = async (cid: string, script: string, ...args: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await world.exec(cid, 'bosh', [
      ...['/bin/sh', '-c', script, 'hostile', ...args],
    ]);
    assert.equal(exitCode, 0, `${script}: ${stdout}${stderr}`);
    return stdout;
  };
  /** Makes a disk with programs in its root, attached to no VM. */
  async function armedDisk(vm: string): Promise<string> {
    const { disk, hint } = await newDisk(vm);
    await inVm(vm, hostile.fillWithPrograms, hint);
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    return disk;
  }
  const notAttachable = (message: RegExp) => (error: unknown) => {
    assert.ok(isProductError(error, 'DISK_NOT_ATTACHABLE'), String(error));
    assert.match(error.message, message);
    return true;
  };

  for (const profile of profiles) {
    test(`${profile}: the attachment pod does not follow a link to /usr/bin at the path of its disk`, async () => {
      const vm = await newVm(world.cloud, { profile });
      const disk = await armedDisk(vm);
      await inVm(vm, hostile.linkEntry, disk, '/usr/bin');
      await assert.rejects(
        attachDisk(world.cloud, { vmCid: vm, diskCid: disk }),
        notAttachable(/is no directory of root/u),
      );
      await inVm(vm, hostile.assertNotOwned);
      await inVm(vm, hostile.removeLinks);
      await inVm(vm, `test -d "$1"`, await attachDisk(world.cloud, { vmCid: vm, diskCid: disk }));
      await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
      await deleteVm(world.cloud, { vmCid: vm });
      await deleteDisk(world.cloud, { diskCid: disk });
    });

    test(`${profile}: a VM that links and moves at any moment gets its disk in its own hub only`, async () => {
      const vm = await newVm(world.cloud, { profile });
      const disk = await armedDisk(vm);
      await inVm(vm, hostile.race, disk, '/usr/bin');
      for (let left = 4; left > 0; left -= 1) {
        await attachDisk(world.cloud, { vmCid: vm, diskCid: disk }).catch((error: unknown) => {
          if (!isProductError(error, 'DISK_NOT_ATTACHABLE')) throw error;
        });
        await inVm(vm, hostile.assertNotOwned);
        await detachDisk(world.cloud, { vmCid: vm, diskCid: disk }).catch((error: unknown) => {
          if (!isProductError(error)) throw error;
        });
      }
      await inVm(vm, hostile.stopRace);
      await inVm(vm, hostile.assertNotOwned);
      await deleteVm(world.cloud, { vmCid: vm });
      await deleteDisk(world.cloud, { diskCid: disk });
    });
  }

  test('a VM whose root has moved the folder of its disks, one of them in it, terminates, and the disk is intact', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    await inVm(vm, `echo alive > ${hint}/canary && cd /warden-cpi-dev && mv disks 'a b' && mkdir disks`);
    await deleteVm(world.cloud, { vmCid: vm });
    const next = await newVm();
    const again = await attachDisk(world.cloud, { vmCid: next, diskCid: disk });
    assert.equal(await inVm(next, `cat ${again}/canary`), 'alive\n');
    await deleteVm(world.cloud, { vmCid: next });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  test("a link `store` in a disk's root is refused for the next VM", async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    await inVm(vm, `rmdir ${hint} && ln -s /var/vcap/jobs ${hint}`);
    await deleteVm(world.cloud, { vmCid: vm });
    const next = await newVm();
    await assert.rejects(
      attachDisk(world.cloud, { vmCid: next, diskCid: disk }),
      notAttachable(/'store' in the root of disk/u),
    );
    await deleteVm(world.cloud, { vmCid: next });
    await deleteDisk(world.cloud, { diskCid: disk });
  });

  for (const marker of ['mkdir', 'mkfifo', 'ln -s /etc/passwd', 'touch']) {
    test(`a marker that root created (${marker}) does not outlive the container`, async () => {
      const vm = await newVm();
      await inVm(vm, `${marker} /warden-cpi-dev/.going`);
      await world.killContainer(vm);
      await until('the VM to have started again without the marker', async () => {
        const { exitCode } = await world
          .exec(vm, 'bosh', [
            ...['/bin/sh', '-c', 'test ! -e /warden-cpi-dev/.going && test ! -L /warden-cpi-dev/.going'],
          ])
          .catch(() => ({ exitCode: 1 }));
        return exitCode === 0;
      });
      await deleteVm(world.cloud, { vmCid: vm });
    });
  }

  test(
    "a job user cannot change root's files in the hub, on the data volume or on the disk",
    { skip: namespaceMode === 'root' ? false : 'needs root: this user namespace has one user' },
    async () => {
      const vm = await newVm();
      const { disk } = await newDisk(vm);
      for (const attempt of hostile.attemptsOfJobUser) {
        const script = 'setpriv --reuid 1000 --regid 1000 --clear-groups sh -c "$1" 2> /dev/null';
        const { exitCode } = await world.exec(vm, 'bosh', ['/bin/sh', '-c', script, 'hostile', attempt]);
        assert.notEqual(exitCode, 0, attempt);
      }
      assert.equal(
        await inVm(vm, `cd /var/vcap/data && stat -c '%a %U:%G %n' . tmp jobs packages sys sys/log sys/run`),
        [
          ...['755 root:root .', '755 root:root tmp', '750 root:vcap jobs', '755 root:vcap packages'],
          ...['750 root:vcap sys', '750 root:vcap sys/log', '750 root:vcap sys/run', ''],
        ].join('\n'),
      );
      await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
      await deleteVm(world.cloud, { vmCid: vm });
      await deleteDisk(world.cloud, { diskCid: disk });
    },
  );
});
