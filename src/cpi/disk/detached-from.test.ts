import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { annotation } from '../objects/labels.ts';
import { Crash, crashingApi } from '../testing/crashing-api.ts';
import { rejection } from '../testing/rejection.ts';
import {
  type TestCloud,
  createVmRequest,
  namespace,
  testCloud,
  vmCidOfTest as vmCid,
} from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { attachDisk } from './attach-disk.ts';
import { createDisk } from './create-disk.ts';
import { detachDisk } from './detach-disk.ts';
import { getDisks } from './get-disks.ts';

interface World extends TestCloud {
  readonly other: string;
  readonly disk: string;
}

/** Makes two VMs; the first has a disk. */
async function twoVms(t: TestContext): Promise<World> {
  const made = await testCloud(t);
  await createVm(made.cloud, createVmRequest());
  const networks = { default: { type: 'dynamic' } };
  const [other] = await createVm(made.cloud, createVmRequest({ agentId: 'other', networks }));
  const disk = await createDisk(made.cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(made.cloud, { vmCid, diskCid: disk });
  return { ...made, other, disk };
}

const detachedFrom = async ({ api, disk }: World): Promise<string | undefined> => {
  const reference = { resource: persistentVolumeClaims, namespace, name: disk };
  return (await api.get<PersistentVolumeClaim>(reference)).metadata.annotations?.[annotation.detachedFrom];
};

for (const write of ['the note', 'the deletion']) {
  test(`a detach_disk that was killed after ${write}: the same call again succeeds, and once more`, async (t) => {
    const { cloud, disk } = await twoVms(t);
    const dying = { ...cloud, api: crashingApi(cloud.api, write === 'the note' ? 1 : 2, 'after') };
    await assert.rejects(detachDisk(dying, { vmCid, diskCid: disk }), (error) => error instanceof Crash);
    for (let left = 2; left > 0; left -= 1)
      assert.equal(await detachDisk(cloud, { vmCid, diskCid: disk }), null);
    assert.deepEqual(await getDisks(cloud, { vmCid }), []);
  });
}

test('a disk that was taken from one VM was never attached to another', async (t) => {
  const { cloud, other, disk } = await twoVms(t);
  await detachDisk(cloud, { vmCid, diskCid: disk });
  await assert.rejects(detachDisk(cloud, { vmCid: other, diskCid: disk }), rejection('DISK_NOT_ATTACHED'));
  await attachDisk(cloud, { vmCid: other, diskCid: disk });
  await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), rejection('DISK_NOT_ATTACHED'));
  await detachDisk(cloud, { vmCid: other, diskCid: disk });
  await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), rejection('DISK_NOT_ATTACHED'));
  assert.equal(await detachDisk(cloud, { vmCid: other, diskCid: disk }), null);
});

test('an attach_disk that mounts the disk after a detach_disk has noted its release takes the note back', async (t) => {
  const world = await twoVms(t);
  const { cloud, disk } = world;
  let isNoted = false;
  const exec: CallContext['exec'] = async (command) => {
    if (!isNoted) {
      isNoted = true;
      const dying = { ...cloud, api: crashingApi(cloud.api, 1, 'after') };
      await assert.rejects(detachDisk(dying, { vmCid, diskCid: disk }), (error) => error instanceof Crash);
      assert.notEqual(await detachedFrom(world), undefined);
    }
    return cloud.exec(command);
  };
  await attachDisk({ ...cloud, exec }, { vmCid, diskCid: disk });
  assert.equal(await detachedFrom(world), undefined);
});

test('a slow detach_disk does not write its note over a later attach_disk', async (t) => {
  const world = await twoVms(t);
  const { cloud, disk } = world;
  const exec: CallContext['exec'] = async (command) => {
    const outcome = await cloud.exec(command);
    await detachDisk(cloud, { vmCid, diskCid: disk });
    await attachDisk(cloud, { vmCid, diskCid: disk });
    return outcome;
  };
  const slow = detachDisk({ ...cloud, exec: once(exec, cloud.exec) }, { vmCid, diskCid: disk });
  await assert.rejects(slow, rejection('DISK_BUSY', /was attached again to VM/u));
  assert.equal(await detachedFrom(world), undefined);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
});

/** Runs the first command by `first`, the others by `others`. */
function once(first: CallContext['exec'], others: CallContext['exec']): CallContext['exec'] {
  let isDone = false;
  return (command) => {
    const exec = isDone ? others : first;
    isDone = true;
    return exec(command);
  };
}
