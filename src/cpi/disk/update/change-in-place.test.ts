import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  persistentVolumeClaims,
  storageClasses,
  volumeSnapshotClasses,
} from '../../../kubernetes/resources.ts';
import {
  type PersistentVolumeClaim,
  type VolumeSnapshotClass,
  volumeAnnotations,
} from '../../../kubernetes/types/storage.ts';
import { namespace, testCloud, createVmRequest, vmCidOfTest as vmCid } from '../../testing/test-cloud.ts';
import { createDisk } from '../create-disk.ts';
import { changeAttributesClass } from './change-in-place.ts';
import { ApiError } from '../../../kubernetes/client/api-error.ts';
import { annotation } from '../../objects/labels.ts';
import { boundDisk, claimOf, diskObjects } from '../../testing/bound-disk.ts';
import { rejection } from '../../testing/rejection.ts';
import { interceptingApi } from '../../testing/intercepting-api.ts';
import { storageCloud, type StorageCloud } from '../../testing/storage-cloud.ts';
import { createVm } from '../../vm/create-vm.ts';
import { attachDisk } from '../attach-disk.ts';
import { detachDisk } from '../detach-disk.ts';
import { updateDisk } from '../update-disk.ts';
import { kill, type Moment } from './testing/killed-changes.ts';

test('a driver that refuses attributes without a reason: the error says that it gave none', async (t) => {
  const { cloud, api } = await testCloud(t);
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  const reference = { resource: persistentVolumeClaims, namespace, name: disk };
  const modifyVolumeStatus = { status: 'Infeasible', targetVolumeAttributesClassName: 'fast' };
  const claim = await api.patch<PersistentVolumeClaim>(
    reference,
    { status: { phase: 'Bound', modifyVolumeStatus } },
    { subresource: 'status' },
  );
  await assert.rejects(changeAttributesClass(cloud, claim, 'fast'), {
    code: 'NOT_SUPPORTED',
    message: /cannot do VolumeAttributesClass "fast": it gave no reason; /u,
  });
});

/** Marks whether class `name` is the default for claims that name none. */
async function isDefault({ api }: StorageCloud, name: string, value: 'true' | 'false'): Promise<void> {
  const annotations = { [volumeAnnotations.defaultClass]: value };
  await api.patch({ resource: storageClasses, name }, { metadata: { annotations } });
}

test('another default class moves no disk whose type names none, and one whose type names none any more', async (t) => {
  const world = await storageCloud(t);
  const { cloud } = world;
  await createVm(cloud, createVmRequest());
  const unnamed = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  await attachDisk(cloud, { vmCid, diskCid: unnamed });
  await detachDisk(cloud, { vmCid, diskCid: unnamed });
  const named = await boundDisk(world, 'now');
  await isDefault(world, 'local', 'false');
  await isDefault(world, 'other', 'true');

  assert.equal(await updateDisk(cloud, { diskCid: unnamed, sizeMiB: 128, cloudProperties: {} }), null);
  assert.equal((await claimOf(world, unnamed)).spec.storageClassName, 'local');
  const copy = await updateDisk(cloud, { diskCid: named, sizeMiB: 64, cloudProperties: {} });
  assert.ok(copy !== null);
  assert.equal((await claimOf(world, copy)).spec.storageClassName, 'other');

  await isDefault(world, 'other', 'false');
  await isDefault(world, 'now', 'true');
  assert.equal(
    await updateDisk(cloud, { diskCid: copy, sizeMiB: 128, cloudProperties: {} }),
    null,
    'its type names none now',
  );
  assert.equal(
    await updateDisk(cloud, { diskCid: copy, sizeMiB: 128, cloudProperties: { storage_class: 'other' } }),
    null,
  );
  assert.notEqual(
    await updateDisk(cloud, { diskCid: copy, sizeMiB: 128, cloudProperties: {} }),
    null,
    'its type named one',
  );
});

const failure = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;
const notServed = new ApiError({
  ...{ ...failure, reason: 'NotFound', code: 404, details: {} },
  message: 'the server could not find the requested resource',
});
const notAllowed = new ApiError({
  ...{ ...failure, reason: 'Forbidden', code: 403 },
  message: 'volumesnapshotclasses "local" is forbidden',
});
test('a disk of a CPI that noted nothing keeps its class once an update_disk has noted it', async (t) => {
  const world = await storageCloud(t);
  await isDefault(world, 'local', 'false');
  await isDefault(world, 'now', 'true');
  const noted = await boundDisk(world, 'now');
  const other = await boundDisk(world, 'now');
  assert.equal(await updateDisk(world.cloud, { diskCid: noted, sizeMiB: 64, cloudProperties: {} }), null);
  await isDefault(world, 'now', 'false');
  await isDefault(world, 'other', 'true');
  assert.equal(await updateDisk(world.cloud, { diskCid: noted, sizeMiB: 64, cloudProperties: {} }), null);
  assert.notEqual(await updateDisk(world.cloud, { diskCid: other, sizeMiB: 64, cloudProperties: {} }), null);
});

test('a snapshot_class that no snapshot of the disk could have is refused, and not noted', async (t) => {
  const world = await storageCloud(t);
  await world.api.create<VolumeSnapshotClass>(volumeSnapshotClasses, {
    ...{ metadata: { name: 'alien' }, driver: 'driver.example', deletionPolicy: 'Delete' },
  });
  const disk = await boundDisk(world);
  const before = await claimOf(world, disk);
  const update = (name: string, more: object, cloud = world.cloud): Promise<string | null> =>
    updateDisk(cloud, {
      diskCid: disk,
      sizeMiB: 64,
      cloudProperties: { storage_class: 'now', snapshot_class: name, ...more },
    });
  const failing = (error: Error): StorageCloud['cloud'] => ({
    ...world.cloud,
    api: interceptingApi(world.api, (request) =>
      request.startsWith('get volumesnapshotclasses') ? Promise.reject(error) : Promise.resolve(),
    ),
  });
  for (const more of [{}, { storage_class: 'other' }]) {
    for (const name of ['none', 'alien']) {
      const refused = rejection(
        'NOT_SUPPORTED',
        new RegExp(`no VolumeSnapshotClass "${name}" of driver`, 'u'),
      );
      await assert.rejects(update(name, more), refused);
    }
    const notImplemented = rejection('NOT_IMPLEMENTED', /no API snapshot.*leave out snapshot_class/u);
    await assert.rejects(update('local', more, failing(notServed)), notImplemented);
  }
  assert.deepEqual(await claimOf(world, disk), before);
  assert.deepEqual(await diskObjects(world), [disk]);

  assert.equal(await update('local', {}, failing(notAllowed)), null, 'a role that may not read classes');
  await world.api.delete({ resource: volumeSnapshotClasses, name: 'local' });
  assert.equal(await update('local', {}), null, 'nothing to do');
});

/**
 * Runs an update_disk that is killed around its n-th write, then one of a type that names no class, killed
 * around its m-th write (0: not killed), and the latter once more. A call
 * with fewer writes is not killed.
 */
async function copyTwiceKilled(
  t: TestContext,
  moment: Moment,
  second: number,
): Promise<{ isFirstKilled: boolean; isSecondKilled: boolean }> {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  const type = { storage_class: 'other', snapshot_class: 'local' };
  const isFirstKilled = await kill(
    world,
    updateDisk,
    { diskCid: disk, sizeMiB: 64, cloudProperties: type },
    moment,
  );
  await isDefault(world, 'local', 'false');
  await isDefault(world, 'other', 'true');
  const isSecondKilled =
    second > 0 &&
    (await kill(
      world,
      updateDisk,
      { diskCid: disk, sizeMiB: 64, cloudProperties: {} },
      { ...moment, write: second },
    ));
  const cid = (await updateDisk(world.cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: {} })) ?? disk;
  assert.equal((await claimOf(world, cid)).metadata.annotations?.[annotation.snapshotClass], undefined);

  await isDefault(world, 'other', 'false');
  await isDefault(world, 'now', 'true');
  const where = `killed at write ${moment.write}, then at ${second}`;
  assert.equal(
    await updateDisk(world.cloud, { diskCid: cid, sizeMiB: 64, cloudProperties: {} }),
    null,
    `${where}: its type names none`,
  );
  assert.deepEqual(await diskObjects(world), [cid]);
  return { isFirstKilled, isSecondKilled };
}

for (const when of ['before', 'after'] as const) {
  test(`a copy that a killed call began takes the note of the type that it is called again with (killed ${when} a write)`, async (t) => {
    for (let write = 1, isKilled = true; isKilled; write += 1) {
      for (let second = 0, isSecond = true; isSecond; second += 1) {
        const killed = await copyTwiceKilled(t, { write, when }, second);
        isKilled = killed.isFirstKilled;
        isSecond = second === 0 || killed.isSecondKilled;
      }
    }
  });
}
