import assert from 'node:assert/strict';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { describeInOneNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { embeddedVms } from './testing/embedded-vms.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { deleteVm } from './vm/delete-vm.ts';

/** Root of a VM against the programs that remove its files, on the embedded node. */
describeInOneNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  const { newVm, newDisk } = embeddedVms(() => world, '127.64.29');

  before(async () => {
    world = await EmbeddedWorld.start();
  });
  after(() => world.stop());

  test('files whose names are not UTF-8 neither keep a VM and its disk nor stop the next start', async () => {
    const vm = await newVm();
    const { disk, hint } = await newDisk(vm);
    await world.inVm(vm, `mkdir ${hint}/$(printf '\\376'); : >${hint}/$(printf '\\376/\\377')`);
    await world.inVm(vm, `: >/var/vcap/data/$(printf '\\377')`);
    await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
    await deleteDisk(world.cloud, { diskCid: disk });
    await deleteVm(world.cloud, { vmCid: vm });
    assert.deepEqual(await readdir(join(world.directory, 'volumes', '.trash')), []);
    await world.restart();
    assert.deepEqual(world.errors, []);
  });

  test('a file that cannot be removed from the trash is reported and does not prevent the next start', async () => {
    const trash = join(world.directory, 'volumes', '.trash');
    await writeFile(trash, 'no directory');
    await world.restart();
    await rm(trash);
    assert.match(String(world.errors), /ENOTDIR/u);
  });
});
