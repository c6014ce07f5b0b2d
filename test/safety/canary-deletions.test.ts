import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import {
  namespaces,
  persistentVolumeClaims,
  persistentVolumes,
  secrets,
} from '../../src/kubernetes/resources.ts';
import { evict } from '../cluster/support/vm-actions.ts';
import { namespace } from '../support/embedded-environment.ts';
import { isAlive } from '../support/machine.ts';
import { until } from '../support/until.ts';
import { canaryWorld } from './canary-world.ts';
import { missing } from './safety-host.ts';

describe('user data survives deletions', { skip: missing ?? false }, () => {
  const world = canaryWorld('127.64.77');

  /** Each ends the VM while its job writes. The disk keeps its data, and another VM can use it. */
  const deletions: Readonly<Record<string, (vm: string) => Promise<unknown>>> = {
    'a call of delete_vm': (vm) => world.line.call('delete_vm', vm),
    'the deletion of its pod': (vm) => world.deletePod(vm),
    'the forced deletion of its pod': (vm) => world.deletePod(vm, 0),
    'the deletion of its Secret': async (vm) =>
      (await world.line.api()).delete({ resource: secrets, namespace, name: vm }),
    'an eviction': (vm) => evict({ cluster: world.line, namespace }, vm),
  };
  for (const [title, deletion] of Object.entries(deletions)) {
    test(`a disk survives ${title} while the job of its VM writes`, async () => {
      const { vm, disk, canary } = await world.newSubject();
      const job = await world.writerOf(vm);
      await deletion(vm.cid);
      await until('the end of the job', async () => !(await isAlive(job)));
      await until('the end of the VM', async () => (await world.podNamed(vm.cid)) === undefined, 28_000);
      await canary.assertWhole();
      await world.line.call('delete_vm', vm.cid);
      await world.assertDeleted(vm);
      await world.assertFree(disk, canary);
    });
  }

  test('an attachment pod that is deleted while the job writes stays until the disk is unmounted', async () => {
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

  test('after a forced deletion of the attachment pod, delete_disk removes nothing while the job writes', async () => {
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
    await world.assertDeleted(vm);
    await world.line.call('delete_disk', disk);
    await until('the end of the volume', async () => !existsSync(canary.volume));
  });

  test('detach_disk and delete_disk are rejected while the job writes, and succeed afterwards', async () => {
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

  test('removal does not follow symlinks planted by a job', async () => {
    const { vm, disk, canary } = await world.newSubject();
    // The links also replace the folder of pid files. Otherwise the agent would start the job a second time.
    await vm.agent.stop();
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
    await world.assertDeleted(vm);
    await canary.assertWhole();
    await world.line.call('delete_disk', disk);
    await until('the end of the volume', async () => !existsSync(canary.volume));
  });

  test('a claim that is deleted while the job writes stays until the VM is deleted, and a retained volume keeps its data', async () => {
    const { vm, disk, canary } = await world.newSubject();
    const claim = { resource: persistentVolumeClaims, namespace, name: disk };
    const volume = { resource: persistentVolumes, name: basename(canary.volume) };
    const api = await world.line.api();
    await api.delete(claim);
    assert.notEqual((await api.get<KubernetesObject>(claim)).metadata.deletionTimestamp, undefined);
    const { error } = await world.line.cpi('delete_vm', vm.cid);
    assert.match(error?.message ?? '', /was deleted by a program other than BOSH, .*; nothing was changed/);
    await world.growing(canary);
    await canary.assertWhole();
    await api.patch(volume, { spec: { persistentVolumeReclaimPolicy: 'Retain' } });
    await api.patch(claim, { metadata: { annotations: { 'bosh.cloudfoundry.org/give-up': 'true' } } });
    await world.line.call('delete_vm', vm.cid);
    await world.assertDeleted(vm);
    await until('the release of the volume', async () => {
      const { status } = await api.get<KubernetesObject & { status?: { phase?: string } }>(volume);
      return status?.phase === 'Released';
    });
    await canary.assertWhole();
  });

  // This is the last test because it also deletes the bystander's disk.
  test('the deletion of the namespace ends all its VMs and removes their volumes, and nothing else', async () => {
    const { vm, canary } = await world.newSubject();
    const job = await world.writerOf(vm);
    const api = await world.line.api();
    await api.delete({ resource: namespaces, name: namespace });
    await until('the end of the namespace', () =>
      api.get<KubernetesObject>({ resource: namespaces, name: namespace }).then(
        () => false,
        (error: unknown) => isApiError(error, 404),
      ),
    );
    assert.equal(await isAlive(job), false);
    await until('the end of the volume', async () => !existsSync(canary.volume));
    await world.untilBystanderIsDeleted();
    const directories = join(world.line.clusterDirectory, 'kubelet', 'pods');
    await until('the end of the directories of pods', async () => (await readdir(directories)).length === 0);
    await api.create(namespaces, { metadata: { name: namespace } });
  });
});
