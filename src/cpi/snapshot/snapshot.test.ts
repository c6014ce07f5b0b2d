import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import {
  persistentVolumeClaims,
  volumeSnapshotClasses,
  volumeSnapshots,
} from '../../kubernetes/resources.ts';
import type {
  VolumeSnapshot,
  VolumeSnapshotClass,
  PersistentVolumeClaim,
} from '../../kubernetes/types/storage.ts';
import { createDisk } from '../disk/create-disk.ts';
import { deleteDisk } from '../disk/delete-disk.ts';
import { updateDisk } from '../disk/update-disk.ts';
import { annotation, label } from '../objects/labels.ts';
import { storageCloud, type StorageCloud } from '../testing/storage-cloud.ts';
import { namespace } from '../testing/test-cloud.ts';
import { deleteSnapshot } from './delete-snapshot.ts';
import { snapshotDisk, chooseSnapshotClass } from './snapshot-disk.ts';
import { rejection } from '../testing/rejection.ts';
import { verbOf } from '../testing/verb-of.ts';

async function boundDisk({ api, cloud }: StorageCloud, type: object = {}): Promise<string> {
  const cid = await createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'now', ...type } });
  const reference = { resource: persistentVolumeClaims, namespace, name: cid };
  while ((await api.get<PersistentVolumeClaim>(reference)).status?.phase !== 'Bound') {
    await cloud.clock.sleep(5);
  }
  return cid;
}

const snapshotsOf = async ({ api }: StorageCloud): Promise<VolumeSnapshot[]> =>
  (await api.list<VolumeSnapshot>(volumeSnapshots)).items;

/** Returns the API of a cluster without the snapshot kinds. */
function withoutSnapshots(api: KubernetesApi): KubernetesApi {
  const refuse = (group: string): void => {
    if (group !== volumeSnapshots.group) return;
    throw new ApiError({
      ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 404 },
      message: 'the server could not find the requested resource',
      reason: 'NotFound',
      details: {},
    });
  };
  return {
    get: async (reference) => (refuse(reference.resource.group), api.get(reference)),
    list: async (resource, query) => (refuse(resource.group), api.list(resource, query)),
    create: async (resource, object) => (refuse(resource.group), api.create(resource, object)),
    dryRunCreate: (resource, object) => api.dryRunCreate(resource, object),
    replace: (resource, object, subresource) => api.replace(resource, object, subresource),
    patch: (reference, patch, options) => api.patch(reference, patch, options),
    delete: (reference, options) => api.delete(reference, options),
    groups: () => api.groups(),
    watch: (resource, query) => api.watch(resource, query),
  };
}

test('snapshot_disk: the snapshot is ready, labelled and described, and outlives its disk until delete_snapshot', async (t) => {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  const metadata = { deployment: 'd', job: 'db', index: 0, instance_id: 'i', director_name: 'x/y' };
  const cid = await snapshotDisk(world.cloud, { diskCid: disk, metadata });
  assert.match(cid, /^snap-[0-9a-f-]{36}$/u);
  const [snapshot] = await snapshotsOf(world);
  assert.equal(snapshot?.status?.readyToUse, true);
  assert.equal(snapshot.spec.volumeSnapshotClassName, 'local');
  const { labels = {}, annotations = {} } = snapshot.metadata;
  assert.equal(labels[label.unclaimed], 'true');
  assert.equal(labels[label.diskId], disk);
  assert.equal(labels['bosh.cloudfoundry.org/instance-group'], 'db');
  assert.deepEqual(JSON.parse(annotations[annotation.metadata] ?? ''), metadata);

  await deleteDisk(world.cloud, { diskCid: disk });
  assert.equal((await snapshotsOf(world)).length, 1);
  await deleteSnapshot(world.cloud, { snapshotCid: cid });
  await deleteSnapshot(world.cloud, { snapshotCid: cid });
  assert.deepEqual(await snapshotsOf(world), []);
  assert.equal(world.provisioner.snapshots.size, 0);
});

test('the class is the one of the disk type, also after update_disk', async (t) => {
  const world = await storageCloud(t);
  const kept: VolumeSnapshotClass = {
    metadata: { name: 'kept' },
    driver: 'bosh-kubernetes.io/local',
    deletionPolicy: 'Retain',
  };
  await world.api.create(volumeSnapshotClasses, kept);
  const disk = await boundDisk(world, { snapshot_class: 'kept' });
  await snapshotDisk(world.cloud, { diskCid: disk, metadata: {} });
  assert.equal((await snapshotsOf(world))[0]?.spec.volumeSnapshotClassName, 'kept');
  const copy = await updateDisk(world.cloud, {
    diskCid: disk,
    sizeMiB: 64,
    cloudProperties: { storage_class: 'other', snapshot_class: 'kept' },
  });
  await snapshotDisk(world.cloud, { diskCid: copy ?? '', metadata: {} });
  const classes = (await snapshotsOf(world)).map(({ spec }) => spec.volumeSnapshotClassName);
  assert.deepEqual(classes, ['kept', 'kept']);
  await assert.rejects(
    createDisk(world.cloud, { sizeMiB: 64, cloudProperties: { snapshot_class: 'none' } }),
    rejection('INVALID_ARGUMENT', /snapshot_class names a class/u),
  );
});

test('a cluster that cannot make the snapshot: NotImplemented, and nothing is created', async (t) => {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  const unbound = await createDisk(world.cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'later' } });
  await assert.rejects(
    snapshotDisk(world.cloud, { diskCid: unbound, metadata: {} }),
    rejection('NOT_IMPLEMENTED', /never attached.*attach it first/u),
  );
  const poor = { ...world.cloud, api: withoutSnapshots(world.api) };
  await assert.rejects(
    snapshotDisk(poor, { diskCid: disk, metadata: {} }),
    rejection('NOT_IMPLEMENTED', /has no API/u),
  );
  await deleteSnapshot(poor, { snapshotCid: 'snap-1' });
  const moved = await updateDisk(poor, {
    diskCid: disk,
    sizeMiB: 64,
    cloudProperties: { storage_class: 'other' },
  });
  await world.api.delete({ resource: volumeSnapshotClasses, name: 'local' });
  await assert.rejects(
    snapshotDisk(world.cloud, { diskCid: moved ?? '', metadata: {} }),
    rejection('NOT_IMPLEMENTED', /no default VolumeSnapshotClass of driver/u),
  );
  assert.deepEqual(await snapshotsOf(world), []);
});

test('a snapshot that another client deletes before it is ready is a conflict, and a repeated call may succeed', async (t) => {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  const api: KubernetesApi = {
    ...withoutSnapshots(world.api),
    get: (reference) => world.api.get(reference),
    list: (resource, query) => world.api.list(resource, query),
    create: async (resource, object) => {
      const made = await world.api.create(resource, object);
      const { name } = made.metadata;
      if (resource === volumeSnapshots) await world.api.delete({ resource, namespace, name });
      return made;
    },
  };
  await assert.rejects(
    snapshotDisk({ ...world.cloud, api }, { diskCid: disk, metadata: {} }),
    rejection('KUBERNETES_CONFLICT', /^snapshot '.*' was deleted during the call; run the call again$/u),
  );
});

test('a snapshot that does not become ready is deleted, and the error has the message of the driver', async (t) => {
  const world = await storageCloud(t, { deadlines: { snapshot_disk: 1 } });
  const disk = await boundDisk(world);
  const reference = { resource: persistentVolumeClaims, namespace, name: disk };
  const { spec } = await world.api.get<PersistentVolumeClaim>(reference);
  world.provisioner.busy.add(spec.volumeName ?? '');
  await assert.rejects(
    snapshotDisk(world.cloud, { diskCid: disk, metadata: {} }),
    rejection('DEADLINE', /something writes to it all the time/u),
  );
  assert.deepEqual(await snapshotsOf(world), []);
});

test('an unknown disk is DiskNotFound, an unknown snapshot counts as deleted', async (t) => {
  const { cloud } = await storageCloud(t);
  for (const garbage of ['disk-none', 'nonsense', '../x']) {
    await assert.rejects(
      snapshotDisk(cloud, { diskCid: garbage, metadata: {} }),
      rejection('DISK_NOT_FOUND'),
    );
    await deleteSnapshot(cloud, { snapshotCid: garbage });
  }
  await deleteSnapshot(cloud, { snapshotCid: 'snap-none' });
  await assert.rejects(verbOf('snapshot_disk')(cloud, [7, {}]), rejection('INVALID_ARGUMENT', /disk_cid/u));
  await assert.rejects(
    verbOf('snapshot_disk')(cloud, ['disk-1', []]),
    rejection('INVALID_ARGUMENT', /metadata/u),
  );
  await assert.rejects(
    verbOf('delete_snapshot')(cloud, [null]),
    rejection('INVALID_ARGUMENT', /snapshot_cid/u),
  );
});

test('the class of the driver is chosen among several; two default classes are an error', () => {
  const make = (name: string, driver: string, isDefault = true): VolumeSnapshotClass => ({
    metadata: {
      name,
      annotations: { 'snapshot.storage.kubernetes.io/is-default-class': String(isDefault) },
    },
    ...{ driver, deletionPolicy: 'Delete' },
  });
  const classes = [make('a', 'one'), make('b', 'two'), make('c', 'two', false)];
  const choose = (named?: string, driver?: string): unknown =>
    chooseSnapshotClass(classes, { named, driver });
  assert.deepEqual(choose(undefined, 'one'), { className: 'a' });
  assert.deepEqual(choose('c', 'two'), { className: 'c' });
  assert.deepEqual(choose('c'), { className: 'c' });
  assert.match(JSON.stringify(choose('c', 'one')), /no VolumeSnapshotClass \\"c\\" of driver one/u);
  assert.match(JSON.stringify(choose()), /more than one default/u);
  assert.match(JSON.stringify(choose(undefined, 'three')), /no default/u);
});
