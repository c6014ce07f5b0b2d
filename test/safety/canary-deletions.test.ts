import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { isAlive } from '../support/machine.ts';
import { until } from '../support/until.ts';
import { canaryWorld } from './canary-world.ts';
import { missing } from './safety-host.ts';

describe('what deletions leave alone', { skip: missing ?? false }, () => {
  const world = canaryWorld('127.64.77');

  test('delete_vm while the job writes: the VM goes, the disk is whole and free', async () => {
    const { vm, disk, canary } = await world.newSubject();
    await world.line.call('delete_vm', vm.cid);
    await world.assertGone(vm);
    await canary.assertWhole();
    await world.assertFree(disk, canary);
  });

  test('the pod of the VM deleted while the job writes: it ends within its grace, the disk is whole', async () => {
    const { vm, disk, canary } = await world.newSubject();
    await world.deletePod(vm.cid);
    await until('the end of the VM', async () => (await world.podNamed(vm.cid)) === undefined, 28_000);
    await world.line.call('delete_vm', vm.cid);
    await world.assertGone(vm);
    await world.assertFree(disk, canary);
  });

  test('the pod of the VM deleted by force while the job writes: its processes end, the disk is whole', async () => {
    const { vm, disk, canary } = await world.newSubject();
    const job = await world.writerOf(vm);
    await world.deletePod(vm.cid, 0);
    await until('the end of the job', async () => !(await isAlive(job)));
    await canary.assertWhole();
    await world.line.call('delete_vm', vm.cid);
    await world.assertGone(vm);
    await world.assertFree(disk, canary);
  });

  test('the attachment deleted while the job writes: it stays until the disk is released, the disk is whole', async () => {
    const { vm, disk, canary } = await world.newSubject();
    await world.deletePod(`attach-${disk}`);
    await world.growing(canary);
    const attachment = await world.podNamed(`attach-${disk}`);
    assert.notEqual(attachment?.metadata.deletionTimestamp, undefined);
    await vm.agent.stop();
    await vm.agent.unmountDisk(disk);
    await until(
      'the end of the attachment',
      async () => (await world.podNamed(`attach-${disk}`)) === undefined,
    );
    await canary.assertWhole();
    await world.line.call('delete_vm', vm.cid);
    await world.assertFree(disk, canary);
  });

  test('the attachment deleted by force, then delete_disk while the job writes: nothing is removed under the job', async () => {
    const { vm, disk, canary } = await world.newSubject();
    await world.deletePod(`attach-${disk}`, 0);
    await until(
      'the end of the attachment',
      async () => (await world.podNamed(`attach-${disk}`)) === undefined,
    );
    await world.growing(canary);
    await world.line.cpi('delete_disk', disk);
    await world.growing(canary);
    await canary.assertWhole();
    await world.line.call('delete_vm', vm.cid);
    await world.assertGone(vm);
    await world.line.call('delete_disk', disk);
    await until('the end of the volume', async () => !existsSync(canary.volume));
  });

  test('detach_disk and delete_disk while the job writes are refused, the disk stays attached; later both succeed', async () => {
    const { vm, disk, canary } = await world.newSubject();
    const detached = await world.line.cpi('detach_disk', vm.cid, disk);
    assert.match(detached.error?.message ?? '', /still attached .* in use .* mounted at \/var\/vcap\/store/);
    const deleted = await world.line.cpi('delete_disk', disk);
    assert.match(deleted.error?.message ?? '', /is attached to VM/);
    assert.deepEqual(await world.line.call('get_disks', vm.cid), [disk]);
    await world.growing(canary);
    await vm.agent.stop();
    await vm.agent.unmountDisk(disk);
    await world.line.call('detach_disk', vm.cid, disk);
    await canary.assertWhole();
    await world.line.call('delete_disk', disk);
    await until('the end of the volume', async () => !existsSync(canary.volume));
    await world.line.call('delete_vm', vm.cid);
  });

  test('links that a job plants lead no removal outside', async () => {
    const { vm, disk, canary } = await world.newSubject();
    await vm.run(
      [
        `for place in /var/vcap/data /var/vcap/store /var/vcap/bosh /warden-cpi-dev /warden-cpi-dev/disks/${disk}; do`,
        `  ln -s / $place/root; ln -s ${world.canaries.outside} $place/canaries; ln -s ${world.bystander.volume} $place/volume`,
        `done`,
        `mkdir -p /var/vcap/data/deep && cd /var/vcap/data/deep && ln -s ../../../../../../../../../.. up`,
        `rm -rf /var/vcap/data/sys && ln -s ${world.canaries.outside}/folder /var/vcap/data/sys`,
      ].join('\n'),
    );
    await world.line.call('delete_vm', vm.cid);
    await world.assertGone(vm);
    await canary.assertWhole();
    await world.line.call('delete_disk', disk);
    await until('the end of the volume', async () => !existsSync(canary.volume));
  });
});
