import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../errors/product-error.ts';
import { ApiError } from '../kubernetes/client/api-error.ts';
import type { KubernetesApi, Resource } from '../kubernetes/api.ts';
import { persistentVolumeClaims, volumeSnapshots } from '../kubernetes/resources.ts';
import type { VolumeSnapshot, PersistentVolumeClaim } from '../kubernetes/types/storage.ts';
import type { CallContext } from './call.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { resizeDisk } from './disk/resize-disk.ts';
import { updateDisk } from './disk/update-disk.ts';
import { snapshotDisk } from './snapshot/snapshot-disk.ts';
import { diskInZone, otherClass, whereIs } from './testing/disk-in-zone.ts';
import { interceptingApi } from './testing/intercepting-api.ts';
import { startSimulatedWorld } from './testing/simulated-world.ts';
import { type StorageCloud, storageCloud } from './testing/storage-cloud.ts';
import { createVmRequest, namespace } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';
import { rejection } from './testing/rejection.ts';

/**
 * For each rule of manifests/rbac/cluster.yaml, its comment describes what happens if the rule is refused.
 * These tests check it. Lost nodes: lost-node.test.ts.
 */

/**
 * Returns the API of a role that may not read these kinds or, without `plurals`, any kind that is not
 * namespaced.
 */
function refusing(api: KubernetesApi, plurals?: readonly string[]): KubernetesApi {
  const check = ({ plural, namespaced }: Resource): void => {
    if (namespaced || plurals?.includes(plural) === false) return;
    throw new ApiError({
      ...{
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        reason: 'Forbidden',
        code: 403,
      },
      message: `${plural} is forbidden: User "u" cannot read resource "${plural}" at the cluster scope`,
    });
  };
  return {
    ...interceptingApi(api, () => Promise.resolve()),
    get: async (reference) => {
      check(reference.resource);
      return api.get(reference);
    },
    list: async (resource, query) => {
      check(resource);
      return api.list(resource, query);
    },
    watch: (resource, query) => {
      check(resource);
      return api.watch(resource, query);
    },
  };
}

const poorer = ({ cloud, api }: StorageCloud, plurals?: readonly string[]): CallContext => ({
  ...cloud,
  api: refusing(api, plurals),
});

async function boundDisk(
  { api }: StorageCloud,
  cloud: CallContext,
  properties: object = {},
): Promise<string> {
  const name = await createDisk(cloud, {
    sizeMiB: 64,
    cloudProperties: { storage_class: 'now', ...properties },
  });
  const reference = { resource: persistentVolumeClaims, namespace, name };
  while ((await api.get<PersistentVolumeClaim>(reference)).status?.phase !== 'Bound')
    await cloud.clock.sleep(5);
  return name;
}

test('storageclasses: a claim is created for a missing class; a disk grows, and moves to no other class', async (t) => {
  const world = await storageCloud(t);
  const cloud = poorer(world);
  await assert.rejects(
    createDisk(world.cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'none' } }),
    rejection('INVALID_ARGUMENT', /"none"/u),
  );
  await createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'none' } });
  const disk = await boundDisk(world, cloud);
  await resizeDisk(cloud, { diskCid: disk, sizeMiB: 128 });
  await assert.rejects(
    updateDisk(cloud, { diskCid: disk, sizeMiB: 128, cloudProperties: { storage_class: 'other' } }),
    rejection('NOT_SUPPORTED', /storage classes cannot be listed/u),
  );
  await deleteDisk(cloud, { diskCid: disk });
});

test('volumeattributesclasses: a missing class is noticed when the change does not end', async (t) => {
  const world = await storageCloud(t, { deadlines: { resize_disk: 1 } });
  const cloud = poorer(world);
  const disk = await boundDisk(world, cloud);
  const type = { storage_class: 'now', volume_attributes_class: 'none' };
  await assert.rejects(
    updateDisk(world.cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: type }),
    rejection('NOT_SUPPORTED', /no VolumeAttributesClass "none"/u),
  );
  await assert.rejects(
    updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: type }),
    rejection('DEADLINE', /to have the VolumeAttributesClass none/u),
  );
});

test('volumesnapshotclasses: the cluster chooses, a wrong one shows at the first snapshot, and copies are clones', async (t) => {
  const world = await storageCloud(t, { deadlines: { snapshot_disk: 1 } });
  const cloud = poorer(world, ['volumesnapshotclasses']);
  const disk = await boundDisk(world, cloud);
  const name = await snapshotDisk(cloud, { diskCid: disk, metadata: {} });
  const reference = { resource: volumeSnapshots, namespace, name };
  assert.equal((await world.api.get<VolumeSnapshot>(reference)).spec.volumeSnapshotClassName, 'local');

  const wrong = await boundDisk(world, cloud, { snapshot_class: 'none' });
  await assert.rejects(
    snapshotDisk(cloud, { diskCid: wrong, metadata: {} }),
    rejection('DEADLINE', /snapshot .* to be ready.*none/su),
  );

  const claim = async (cid: string): Promise<string> =>
    (
      await world.api.get<PersistentVolumeClaim>({
        ...reference,
        resource: persistentVolumeClaims,
        name: cid,
      })
    ).spec.volumeName ?? '';
  const former = await claim(disk);
  const copy = await updateDisk(cloud, {
    diskCid: disk,
    sizeMiB: 64,
    cloudProperties: { storage_class: 'other' },
  });
  assert.equal(world.provisioner.sources.get(await claim(copy ?? '')), former);
});

test('persistentvolumes and storageclasses: a VM far from its disk is created, and attach_disk explains why it cannot have the disk', async (t) => {
  const world = await startSimulatedWorld(t, 2, { deadlines: { schedule: 1, attach_disk: 20, release: 1 } });
  const cloud = { ...world.cloud, api: refusing(world.cloud.api) };
  const networks = { default: { type: 'dynamic' } };
  const newVm = async (agentId: string, zone: string, disks: readonly string[]): Promise<string> =>
    (
      await createVm(cloud, {
        ...createVmRequest({ agentId, networks, properties: { zone } }),
        diskCids: disks,
      })
    )[0];
  await world.addVolume('z2');
  const disk = await createDisk(cloud, { sizeMiB: 16, cloudProperties: { storage_class: '' } });
  const near = await newVm('near', 'z2', []);
  await attachDisk(cloud, { vmCid: near, diskCid: disk });
  await deleteVm(cloud, { vmCid: near });
  const far = await newVm('far', 'z1', [disk]);
  await assert.rejects(
    attachDisk(cloud, { vmCid: far, diskCid: disk }),
    (error) => isProductError(error) && /didn't match PersistentVolume's node affinity/u.test(error.message),
  );
  const unbound = await createDisk(cloud, { sizeMiB: 16, cloudProperties: { storage_class: '' } });
  await assert.rejects(
    attachDisk(cloud, { vmCid: far, diskCid: unbound }),
    (error) =>
      isProductError(error) &&
      /no storage class is set, so make a static volume for it.*is-default-class/u.test(error.message),
  );
  const nothing = await createDisk(cloud, { sizeMiB: 16, cloudProperties: { storage_class: 'none' } });
  await assert.rejects(
    attachDisk(cloud, { vmCid: far, diskCid: nothing }),
    (error) =>
      isProductError(error) &&
      /claim disk-.*: ProvisioningFailed.*storageclass.*"none" not found.*, so make that class/u.test(
        error.message,
      ),
  );
});

test('persistentvolumes: update_disk copies a disk wherever the scheduler likes, also into another zone', async (t) => {
  const world = await startSimulatedWorld(t);
  const disk = await diskInZone(world, 'z2');
  assert.deepEqual(await whereIs(world, disk), { scheduled: 'sim-2', reachedFrom: ['sim-2'] });
  const cloud = { ...world.cloud, api: refusing(world.cloud.api, ['persistentvolumes']) };
  const copy = await updateDisk(cloud, {
    diskCid: disk,
    sizeMiB: 16,
    cloudProperties: { storage_class: otherClass },
  });
  assert.ok(copy !== null && copy !== disk);
  assert.deepEqual(await whereIs(world, copy), { scheduled: 'sim-1', reachedFrom: ['sim-1'] });
});
