import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import {
  events,
  persistentVolumeClaims,
  volumeAttributesClasses,
  volumeSnapshotClasses,
} from '../../kubernetes/resources.ts';
import type { VolumeAttributesClass } from '../../kubernetes/types/storage.ts';
import { annotation, label } from '../objects/labels.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { boundDisk, claimOf, diskObjects } from '../testing/bound-disk.ts';
import { rejection } from '../testing/rejection.ts';
import { storageCloud, type StorageCloud } from '../testing/storage-cloud.ts';
import { createVmRequest, namespace, vmCidOfTest as vmCid } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { attachDisk } from './attach-disk.ts';
import { createDisk } from './create-disk.ts';
import { deleteDisk } from './delete-disk.ts';
import { detachDisk } from './detach-disk.ts';
import { hasDisk } from './has-disk.ts';
import { resizeDisk } from './resize-disk.ts';
import { setDiskMetadata } from './set-disk-metadata.ts';
import { updateDisk } from './update-disk.ts';
import { verbOf } from '../testing/verb-of.ts';
import type { JsonObject } from '../../platform/json.ts';

async function attributesClass(
  { api }: StorageCloud,
  name: string,
  parameters: Record<string, string>,
): Promise<void> {
  const driverName = name === 'alien' ? 'driver.example' : 'bosh-kubernetes.io/local';
  await api.create<VolumeAttributesClass>(volumeAttributesClasses, {
    metadata: { name },
    driverName,
    parameters,
  });
}

test('an attached disk is neither resized nor updated', async (t) => {
  const world = await storageCloud(t);
  await createVm(world.cloud, createVmRequest());
  const disk = await boundDisk(world);
  await attachDisk(world.cloud, { vmCid, diskCid: disk });
  const busy = rejection('DISK_BUSY', /detach it before/u);
  await assert.rejects(resizeDisk(world.cloud, { diskCid: disk, sizeMiB: 128 }), busy);
  await assert.rejects(
    updateDisk(world.cloud, { diskCid: disk, sizeMiB: 128, cloudProperties: { storage_class: 'other' } }),
    busy,
  );
  await detachDisk(world.cloud, { vmCid, diskCid: disk });
  await resizeDisk(world.cloud, { diskCid: disk, sizeMiB: 128 });
});

test('update_disk in place answers null: nothing, more size, other attributes, another snapshot class', async (t) => {
  const world = await storageCloud(t);
  await attributesClass(world, 'open', { permissions: '0755' });
  const disk = await boundDisk(world);
  const type = { storage_class: 'now' };
  const before = await claimOf(world, disk);
  assert.equal(await updateDisk(world.cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: type }), null);
  assert.deepEqual(await claimOf(world, disk), before);

  const all = { ...type, volume_attributes_class: 'open', snapshot_class: 'local' };
  assert.equal(await updateDisk(world.cloud, { diskCid: disk, sizeMiB: 128, cloudProperties: all }), null);
  const { spec, status, metadata } = await claimOf(world, disk);
  assert.equal(status?.capacity?.['storage'], '128Mi');
  assert.equal(status.currentVolumeAttributesClassName, 'open');
  assert.deepEqual(world.provisioner.modified.get(spec.volumeName ?? ''), { permissions: '0755' });
  assert.equal(metadata.annotations?.[annotation.snapshotClass], 'local');
});

test('attributes that the driver cannot do are taken back; those that nobody has are refused', async (t) => {
  const world = await storageCloud(t);
  await attributesClass(world, 'open', { permissions: '0755' });
  await attributesClass(world, 'fast', { iops: '3000' });
  await attributesClass(world, 'alien', { iops: '3000' });
  const disk = await boundDisk(world);
  const update = (name: string): Promise<string | null> =>
    updateDisk(world.cloud, {
      diskCid: disk,
      sizeMiB: 64,
      cloudProperties: { storage_class: 'now', volume_attributes_class: name },
    });
  await assert.rejects(
    update('fast'),
    rejection('NOT_SUPPORTED', /InvalidArgument: \S+ cannot do iops=3000/u),
  );
  assert.equal((await claimOf(world, disk)).spec.volumeAttributesClassName, undefined);
  await update('open');
  await assert.rejects(update('fast'), rejection('NOT_SUPPORTED'));
  assert.equal((await claimOf(world, disk)).spec.volumeAttributesClassName, 'open');
  await assert.rejects(update('none'), rejection('NOT_SUPPORTED', /no VolumeAttributesClass "none"/u));
  await assert.rejects(update('alien'), rejection('NOT_SUPPORTED', /driver.example/u));
});

for (const [means, target] of [
  ['a snapshot', 'other'],
  ['a snapshot', 'later'],
  ['a clone', 'other'],
  ['a clone', 'later'],
] as const) {
  test(`update_disk to class ${target} by ${means}: a new cid, the data, and nothing else`, async (t) => {
    const world = await storageCloud(t);
    if (means === 'a clone') await world.api.delete({ resource: volumeSnapshotClasses, name: 'local' });
    const disk = await boundDisk(world, 'now');
    await setDiskMetadata(world.cloud, { diskCid: disk, metadata: { deployment: 'd' } });
    const { volumeName = '' } = (await claimOf(world, disk)).spec;
    const copy = await updateDisk(world.cloud, {
      diskCid: disk,
      sizeMiB: 128,
      cloudProperties: { storage_class: target },
    });
    assert.ok(copy !== null);
    assert.deepEqual(await diskObjects(world), [copy]);
    const { spec, metadata } = await claimOf(world, copy);
    assert.equal(spec.storageClassName, target);
    assert.equal(spec.resources?.requests?.['storage'], '128Mi');
    assert.equal(metadata.labels?.['bosh.cloudfoundry.org/deployment'], 'd');
    const source = world.provisioner.sources.get(spec.volumeName ?? '') ?? '';
    assert.equal(
      means === 'a clone' ? source : world.provisioner.sources.get(source),
      volumeName,
      'the copy has the data of the disk',
    );
  });
}

test('update_disk from a volume_attributes_class in effect to none: a copy in the same class, with the data', async (t) => {
  const world = await storageCloud(t);
  await attributesClass(world, 'open', { permissions: '0755' });
  const disk = await boundDisk(world);
  const type = { storage_class: 'now' };
  await updateDisk(world.cloud, {
    diskCid: disk,
    sizeMiB: 64,
    cloudProperties: { ...type, volume_attributes_class: 'open' },
  });
  const { spec, status } = await claimOf(world, disk);
  assert.equal(status?.currentVolumeAttributesClassName, 'open');
  const copy = await updateDisk(world.cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: type });
  assert.ok(copy !== null);
  assert.deepEqual(await diskObjects(world), [copy]);
  const now = await claimOf(world, copy);
  assert.deepEqual([now.spec.storageClassName, now.spec.volumeAttributesClassName], ['now', undefined]);
  const source = world.provisioner.sources.get(now.spec.volumeName ?? '') ?? '';
  assert.equal(world.provisioner.sources.get(source), spec.volumeName);
});

test('update_disk to what no driver can do: NotSupported, and nothing changed', async (t) => {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  const unbound = await createDisk(world.cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'later' } });
  const cases: [string, number, JsonObject, RegExp][] = [
    [disk, 64, { storage_class: 'foreign' }, /no driver copies that/u],
    [disk, 64, { storage_class: 'none' }, /no storage class "none"/u],
    [disk, 64, { storage_class: '' }, /no storage class ""/u],
    [disk, 63, { storage_class: 'now' }, /do not shrink/u],
    [unbound, 128, { storage_class: 'later' }, /never attached/u],
    [unbound, 64, { storage_class: 'now' }, /never attached/u],
  ];
  const before = await diskObjects(world);
  for (const [cid, size, type, message] of cases) {
    await assert.rejects(
      updateDisk(world.cloud, { diskCid: cid, sizeMiB: size, cloudProperties: type }),
      rejection('NOT_SUPPORTED', message),
    );
  }
  assert.deepEqual(await diskObjects(world), before);
  assert.equal((await claimOf(world, disk)).metadata.annotations?.[annotation.replacement], undefined);
  for (const type of [{ type: 'x' }, { storage_class: '../x' }, { volume_attributes_class: 'A' }, []]) {
    await assert.rejects(verbOf('update_disk')(world.cloud, [disk, 64, type]), rejection('INVALID_ARGUMENT'));
  }
  await assert.rejects(
    updateDisk(world.cloud, { diskCid: 'disk-none', sizeMiB: 64, cloudProperties: {} }),
    rejection('DISK_NOT_FOUND'),
  );
});

for (const target of ['other', 'later']) {
  test(`a copy in class ${target} that is not made in time is taken back: NotSupported, and the disk is as before`, async (t) => {
    const world = await storageCloud(t, { deadlines: { update_disk: 1 } });
    const disk = await boundDisk(world);
    world.provisioner.broken = true;
    await assert.rejects(
      updateDisk(world.cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: { storage_class: target } }),
      rejection(
        'NOT_SUPPORTED',
        /no space left on device.*provisioner of its driver.*the copy was rolled back/su,
      ),
    );
    assert.deepEqual(await diskObjects(world), [disk]);
    assert.equal((await claimOf(world, disk)).metadata.annotations?.[annotation.replacement], undefined);
  });
}

for (const role of ['may', 'may not']) {
  test(`a copy whose pod no node takes: NotSupported with the words of the scheduler, which a role sees that ${role} list events`, async (t) => {
    const world = await storageCloud(t, { deadlines: { update_disk: 1 } });
    const disk = await boundDisk(world);
    world.node.unschedulable = '0/1 nodes are available: 1 node(s) had volume node affinity conflict.';
    const list: KubernetesApi['list'] = (resource, query) =>
      resource === events && role === 'may not'
        ? Promise.reject(mayNotList)
        : world.api.list(resource, query);
    const api = { ...interceptingApi(world.api, () => Promise.resolve()), list };
    await assert.rejects(
      updateDisk(
        { ...world.cloud, api },
        { diskCid: disk, sizeMiB: 64, cloudProperties: { storage_class: 'later' } },
      ),
      rejection(
        'NOT_SUPPORTED',
        /its pod bind-disk-\S+: phase Pending, Unschedulable: 0\/1 nodes .* affinity conflict.*; give room to its pod on a node/su,
      ),
    );
    assert.deepEqual(await diskObjects(world), [disk]);
  });
}

test('a cluster without VolumeAttributesClasses: NotImplemented, and nothing changed', async (t) => {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  const before = await claimOf(world, disk);
  const api = interceptingApi(world.api, (request) =>
    request.startsWith('get volumeattributesclasses') ? Promise.reject(notServed) : Promise.resolve(),
  );
  const type = { storage_class: 'now', volume_attributes_class: 'open' };
  await assert.rejects(
    updateDisk({ ...world.cloud, api }, { diskCid: disk, sizeMiB: 128, cloudProperties: type }),
    rejection('NOT_IMPLEMENTED', /no VolumeAttributesClasses/u),
  );
  assert.deepEqual(await claimOf(world, disk), before);
});

const failure = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;
const notServed = new ApiError({
  ...{ ...failure, reason: 'NotFound', code: 404, details: {} },
  message: 'the server could not find the requested resource',
});
const mayNotList = new ApiError({
  ...{ ...failure, reason: 'Forbidden', code: 403 },
  message: 'events is forbidden: User "u" cannot list resource "events" in API group ""',
});

test('the former cid finds the copy until somebody names it by its own', async (t) => {
  const world = await storageCloud(t);
  const { cloud } = world;
  await createVm(cloud, createVmRequest());
  const disk = await boundDisk(world);
  const type = { storage_class: 'other' };
  const copy = await updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: type });
  assert.ok(copy !== null);
  assert.equal(await updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: type }), copy);
  assert.equal(await hasDisk(cloud, { diskCid: disk }), true);
  await resizeDisk(cloud, { diskCid: disk, sizeMiB: 128 });
  await setDiskMetadata(cloud, { diskCid: disk, metadata: { deployment: 'd' } });
  assert.equal(await attachDisk(cloud, { vmCid, diskCid: disk }), `/warden-cpi-dev/disks/${copy}/store`);
  await assert.rejects(deleteDisk(cloud, { diskCid: disk }), rejection('DISK_BUSY'));
  await detachDisk(cloud, { vmCid, diskCid: disk });
  const second = await updateDisk(cloud, {
    diskCid: disk,
    sizeMiB: 128,
    cloudProperties: { storage_class: 'now' },
  });
  assert.ok(second !== null && second !== copy);
  assert.equal(await hasDisk(cloud, { diskCid: disk }), true);
  assert.equal(await hasDisk(cloud, { diskCid: copy }), true, 'its caller may hear of it later');

  await attachDisk(cloud, { vmCid, diskCid: second });
  assert.equal((await claimOf(world, second)).metadata.labels?.[label.replaces], undefined);
  assert.equal(await hasDisk(cloud, { diskCid: disk }), false);
  assert.equal(await hasDisk(cloud, { diskCid: copy }), false);
  await deleteDisk(cloud, { diskCid: disk });
  assert.equal(await hasDisk(cloud, { diskCid: second }), true, 'a stranger to it now');
});

test('a copy does not take over what calls wrote about the claim of the disk', async (t) => {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  const { attachment, deleting, detachedFrom, giveUp, vmUid } = annotation;
  const ofClaim = [attachment, deleting, detachedFrom, giveUp, vmUid];
  const given = Object.fromEntries([...ofClaim, 'example.org/owner'].map((key) => [key, 'true']));
  await world.api.patch(
    { resource: persistentVolumeClaims, namespace, name: disk },
    { metadata: { annotations: given } },
  );
  const copy = await updateDisk(world.cloud, {
    diskCid: disk,
    sizeMiB: 64,
    cloudProperties: { storage_class: 'other' },
  });
  const { annotations = {} } = (await claimOf(world, copy ?? '')).metadata;
  assert.deepEqual(
    Object.keys(given).filter((key) => annotations[key] !== undefined),
    ['example.org/owner'],
  );
});

test('an answer that comes after a later update_disk by the former cid names the disk, too', async (t) => {
  const world = await storageCloud(t);
  const { cloud } = world;
  await createVm(cloud, createVmRequest());
  const disk = await boundDisk(world);
  const update = async (diskCid: string, storageClass: string): Promise<string> =>
    (await updateDisk(cloud, { diskCid, sizeMiB: 64, cloudProperties: { storage_class: storageClass } })) ??
    '';
  const first = await update(disk, 'other');
  const second = await update(disk, 'now');
  assert.equal(await update(first, 'now'), second);
  const third = await update(first, 'other');
  for (const cid of [disk, first, second, third]) assert.equal(await hasDisk(cloud, { diskCid: cid }), true);
  assert.equal(await attachDisk(cloud, { vmCid, diskCid: second }), `/warden-cpi-dev/disks/${third}/store`);
  await detachDisk(cloud, { vmCid, diskCid: first });
  // described by its own cid
  await setDiskMetadata(cloud, { diskCid: third, metadata: { deployment: 'd' } });
  for (const cid of [disk, first, second]) assert.equal(await hasDisk(cloud, { diskCid: cid }), false);
  assert.deepEqual(
    (await diskObjects(world)).filter((name) => name.startsWith('disk-')),
    [third],
  );
});

test('delete_disk by the former cid deletes the copy', async (t) => {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  await updateDisk(world.cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: { storage_class: 'other' } });
  await deleteDisk(world.cloud, { diskCid: disk });
  assert.deepEqual(await diskObjects(world), []);
});
