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
import { evict } from '../cluster/support/evict.ts';
import { namespace } from '../support/embedded-line.ts';
import { isAlive } from '../support/machine.ts';
import { until } from '../support/until.ts';
import type { Subject } from './canaries.ts';
import { canaryWorld } from './canary-world.ts';
import { missing } from './safety-host.ts';

describe('what deletions behind the CPI’s back leave alone', { skip: missing ?? false }, () => {
  const world = canaryWorld('127.64.74');

  /** Asserts that the VM and its job end, and that its disk can be used again. */
  async function assertEnds({ vm, disk, canary }: Subject, deletion: () => Promise<void>): Promise<void> {
    const job = await world.writerOf(vm);
    await deletion();
    await until('the end of the VM', async () => (await world.podNamed(vm.cid)) === undefined);
    assert.equal(await isAlive(job), false);
    await canary.assertWhole();
    await world.line.call('delete_vm', vm.cid);
    await world.assertGone(vm);
    await world.assertFree(disk, canary);
  }

  test('the Secret of the VM deleted while the job writes: its pod goes with it, the disk is whole and free', async () => {
    const subject = await world.newSubject();
    const api = await world.line.api();
    await assertEnds(subject, () => api.delete({ resource: secrets, namespace, name: subject.vm.cid }));
  });

  test('the VM evicted while the job writes: it ends, the disk is whole and free', async () => {
    const subject = await world.newSubject();
    await assertEnds(subject, () => evict({ cluster: world.line, namespace }, subject.vm.cid));
  });

  test('the claim of the disk deleted while the job writes: nothing goes before the VM does, and no data that was kept', async () => {
    const { vm, disk, canary } = await world.newSubject();
    const claim = { resource: persistentVolumeClaims, namespace, name: disk };
    const volume = { resource: persistentVolumes, name: basename(canary.volume) };
    const api = await world.line.api();
    await api.delete(claim);
    assert.notEqual((await api.get<KubernetesObject>(claim)).metadata.deletionTimestamp, undefined);
    const { error } = await world.line.cpi('delete_vm', vm.cid);
    assert.match(error?.message ?? '', /was deleted behind BOSH's back, .*; nothing was changed/);
    await world.growing(canary);
    await canary.assertWhole();
    await api.patch(volume, { spec: { persistentVolumeReclaimPolicy: 'Retain' } });
    await api.patch(claim, { metadata: { annotations: { 'bosh.cloudfoundry.org/give-up': 'true' } } });
    await world.line.call('delete_vm', vm.cid);
    await world.assertGone(vm);
    await until('the release of the volume', async () => {
      const { status } = await api.get<KubernetesObject & { status?: { phase?: string } }>(volume);
      return status?.phase === 'Released';
    });
    await canary.assertWhole();
  });

  // This is the last test because it also deletes the bystander's disk.
  test('the namespace deleted while the job writes: everything of it ends, and nothing else', async () => {
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
    await world.untilBystanderIsGone();
    const directories = join(world.line.clusterDirectory, 'kubelet', 'pods');
    await until('the end of the directories of pods', async () => (await readdir(directories)).length === 0);
    await api.create(namespaces, { metadata: { name: namespace } });
  });
});
