import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { KillTarget } from '../support/embedded-environment.ts';
import { isAlive, mountsOf, processesOf } from '../support/machine.ts';
import { until } from '../support/until.ts';
import { canaryWorld } from './canary-world.ts';
import { missing } from './safety-host.ts';

describe('user data survives crashes', { skip: missing ?? false }, () => {
  const world = canaryWorld('127.64.73');

  for (const victim of ['the node', 'the first process', 'unshare', 'everything'] satisfies KillTarget[]) {
    test(`after kill -9 of ${victim} and a start, the VM, its job and its disk come back intact`, async () => {
      const { vm, disk, canary } = await world.newSubject();
      const previous = await vm.pod();
      const old = await processesOf(world.line.directory);
      const lives = await canary.lives();
      await world.line.kill(victim);
      await world.line.restart();
      for (const each of old) assert.equal(await isAlive(each), false, `${each.pid} ${each.command}`);
      await vm.untilAgentAnswers();
      await until('the job of the next life', async () => (await canary.lives()) > lives);
      await world.growing(canary);
      assert.equal((await vm.pod()).metadata.uid, previous.metadata.uid);
      assert.deepEqual(await world.line.call('get_disks', vm.cid), [disk]);
      await vm.run('mountpoint -q /var/vcap/store && ! test -e /var/vcap/data/started-without-its-disk');
      await canary.assertWhole();
      await world.line.call('delete_vm', vm.cid);
      await world.assertDeleted(vm);
      await world.line.call('delete_disk', disk);
      await until('the end of the volume', async () => !existsSync(canary.volume));
    });
  }

  // The pods must die with their node by themselves, not only because this test kills them.
  for (const victim of ['the node', 'everything'] satisfies KillTarget[]) {
    test(`after kill -9 of ${victim} and a restart, the old job is dead, and delete_disk removes only its disk`, async () => {
      const { vm, disk, canary } = await world.newSubject();
      const kept = await world.newSubject();
      const job = await world.writerOf(vm);
      await world.deletePod(`attach-${disk}`, 0);
      await until(
        'the end of the attachment',
        async () => (await world.podNamed(`attach-${disk}`)) === undefined,
      );
      await world.growing(canary);
      await world.line.kill(victim);
      await world.line.restart();
      assert.equal(await isAlive(job), false);
      const lines = await canary.lines();
      // Until its container runs again, the CPI cannot know whether the VM will use the disk, and delete_disk
      // rejects.
      await until('delete_disk', async () => {
        const { error } = await world.line.cpi('delete_disk', disk);
        if (error !== null) assert.match(error.message, /may still be mounted/u);
        return error === null;
      });
      assert.ok(lines > 0);
      await until('the end of the volume', async () => !existsSync(canary.volume));
      await kept.vm.untilAgentAnswers();
      await world.growing(kept.canary);
      await kept.canary.assertWhole();
      const refused = await world.line.cpi('delete_disk', kept.disk);
      assert.match(refused.error?.message ?? '', /is attached to VM/);
      await world.line.call('delete_vm', vm.cid);
      await world.line.call('delete_vm', kept.vm.cid);
      await kept.canary.assertWhole();
      await world.line.call('delete_disk', kept.disk);
    });
  }

  test('stop ends every process and mount, and the next start restores the VM, its job and its disk', async () => {
    const { vm, disk, canary } = await world.newSubject();
    const lives = await canary.lives();
    await world.line.stop();
    assert.deepEqual(await processesOf(world.line.directory), []);
    assert.deepEqual(await mountsOf(world.line.directory), []);
    await canary.assertWhole();
    await world.line.restart();
    await vm.untilAgentAnswers();
    await until('the job of the next life', async () => (await canary.lives()) > lives);
    await world.growing(canary);
    await vm.run('! test -e /var/vcap/data/started-without-its-disk');
    await world.line.call('delete_vm', vm.cid);
    await canary.assertWhole();
    await world.line.call('delete_disk', disk);
  });

  test('an attachment pod that starts before its VM does not mount the disk into a plain directory', async () => {
    const { vm, disk, canary } = await world.newSubject();
    const { uid = '' } = (await vm.pod()).metadata;
    await world.line.kill('everything');
    await until('the end of all', async () => (await processesOf(world.line.directory)).length === 0);
    // The hub is now a plain directory. A file in place of the VM's first volume keeps the VM from mounting
    // it.
    const volumes = join(world.line.clusterDirectory, 'kubelet', 'pods', uid, 'volumes');
    const hub = join(volumes, 'kubernetes.io~empty-dir', 'hub');
    const settings = join(volumes, 'kubernetes.io~secret', 'settings');
    assert.deepEqual(await readdir(hub), []);
    await mkdir(join(hub, 'disks'));
    await rm(settings, { recursive: true });
    await writeFile(settings, '');
    await world.line.restart();
    await until('the refusal of the attachment', async () =>
      /not a tmpfs/.test(JSON.stringify((await world.podNamed(`attach-${disk}`))?.status)),
    );
    await canary.assertWhole();
    await rm(settings);
    await vm.untilAgentAnswers();
    await world.growing(canary);
    await vm.run('mountpoint -q /var/vcap/store && ! test -e /var/vcap/data/started-without-its-disk');
    await world.line.call('delete_vm', vm.cid);
    await world.assertDeleted(vm);
    await world.assertFree(disk, canary);
  });
});
