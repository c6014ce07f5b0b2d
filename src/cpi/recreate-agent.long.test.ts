import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCountingJob } from '../agent/testing/counting-job.ts';
import { reaches } from '../agent/testing/specs.ts';
import { describeInNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { isProductError } from '../errors/product-error.ts';
import type { CallContext } from './call.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { type AgentVm, createAgentVm, untilAnswers } from './testing/agent-vm.ts';
import { ownAgent } from './testing/agents.ts';
import { EmbeddedWorld } from './testing/embedded-world.ts';
import { deleteVm } from './vm/delete-vm.ts';

/**
 * The strategy `recreate` with this project's agent: the calls of create-env and the director when they move
 * a disk's content.
 */
describeInNamespace(import.meta.filename, () => {
  let world: EmbeddedWorld;
  let cloud: CallContext;

  before(async () => {
    world = await EmbeddedWorld.start(ownAgent);
    cloud = world.cloudWith({ attach: 'recreate' });
  });
  after(async () => {
    await world.stop();
    assert.deepEqual(world.errors, []);
  });

  async function attach(vm: AgentVm, disk: string): Promise<void> {
    const hint = await attachDisk(cloud, { vmCid: vm.cid, diskCid: disk });
    await untilAnswers(vm);
    await vm.client.task('add_persistent_disk', disk, { path: hint });
    await vm.client.task('mount_disk', disk);
  }

  const lives = (vm: AgentVm): Promise<string> => world.inVm(vm.cid, 'cat /var/vcap/store/lives');

  for (const profile of ['privileged', 'baseline']) {
    test(`${profile}: the second disk of a migration; jobs and state come back with each new pod`, async () => {
      const address = profile === 'privileged' ? '127.64.41.1' : '127.64.41.2';
      const vm = await createAgentVm(world, { address, properties: { profile }, cloud });
      const [old, larger] = [
        await createDisk(cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: vm.cid }),
        await createDisk(cloud, { sizeMiB: 32, cloudProperties: {}, vmCid: vm.cid }),
      ];
      await attach(vm, old);
      await startCountingJob(vm.client);
      await assert.rejects(detachDisk(cloud, { vmCid: vm.cid, diskCid: old }), (error) =>
        isProductError(error, 'DISK_BUSY'),
      );
      await reaches(vm.client, 'running');
      assert.equal(await lives(vm), 'life\n');

      await attach(vm, larger);
      await reaches(vm.client, 'running');
      assert.equal(await lives(vm), 'life\nlife\n');
      assert.deepEqual(await vm.client.value('list_disk'), [old, larger]);
      await vm.client.task('stop');
      await vm.client.task('migrate_disk');
      assert.deepEqual(await vm.client.value('list_disk'), [larger]);
      await vm.client.task('remove_persistent_disk', old);

      await detachDisk(cloud, { vmCid: vm.cid, diskCid: old });
      // at once, as a director sends update_settings
      assert.deepEqual(await vm.client.value('list_disk'), [larger]);
      assert.deepEqual(await getDisks(cloud, { vmCid: vm.cid }), [larger]);
      await deleteDisk(cloud, { diskCid: old });
      await vm.client.value('start');
      await reaches(vm.client, 'running');
      assert.match(await lives(vm), /^(life\n){3,}$/u);
      await deleteVm(cloud, { vmCid: vm.cid });
      await deleteDisk(cloud, { diskCid: larger });
    });
  }
});
