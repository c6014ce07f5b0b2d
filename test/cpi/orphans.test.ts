import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDisk } from '../../src/cpi/disk/create-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { hasDisk } from '../../src/cpi/disk/has-disk.ts';
import { setDiskMetadata } from '../../src/cpi/disk/set-disk-metadata.ts';
import { updateDisk } from '../../src/cpi/disk/update-disk.ts';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { snapshotDisk } from '../../src/cpi/snapshot/snapshot-disk.ts';
import { Crash, crashingApi } from '../../src/cpi/testing/crashing-api.ts';
import { storageCloud } from '../../src/cpi/testing/storage-cloud.ts';
import { createVmRequest, namespace, vmCidOfTest } from '../../src/cpi/testing/test-cloud.ts';
import { createVm } from '../../src/cpi/vm/create-vm.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { setVmMetadata } from '../../src/cpi/vm/set-vm-metadata.ts';
import { forbidden } from '../../embedded-cluster/api-server/errors/status-errors.ts';
import type { KubernetesApi, ListQuery, Resource } from '../../src/kubernetes/api.ts';
import {
  namespaces,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
  storageClasses,
} from '../../src/kubernetes/resources.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../src/kubernetes/types/storage.ts';
import { listOrphans } from '../../src/inventory/find-orphans.ts';
import { until } from '../support/until.ts';

test('orphans lists leftovers of killed calls and omits objects in use', async (t) => {
  const { api, cloud } = await storageCloud(t);
  const list = async (): Promise<string[]> =>
    (await listOrphans(api, { vms: namespace, disks: namespace })).found.map(
      ({ what, name, disk }) => `${what} ${name} ${disk ?? '-'}`,
    );
  assert.deepEqual(await list(), []);

  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'now' } });
  assert.deepEqual(await list(), [`disk ${disk} -`]);
  const reference = { resource: persistentVolumeClaims, namespace, name: disk };
  while ((await api.get<PersistentVolumeClaim>(reference)).status?.phase !== 'Bound') {
    await cloud.clock.sleep(5);
  }
  const request = { diskCid: disk, sizeMiB: 64, cloudProperties: { storage_class: 'later' } };
  const dying = { ...cloud, api: crashingApi(api, 4, 'after') };
  await assert.rejects(updateDisk(dying, request), (error) => error instanceof Crash);
  const copyName = (await api.get(reference)).metadata.annotations?.['bosh.cloudfoundry.org/copy'] ?? '';
  assert.deepEqual(
    (await list()).toSorted(),
    [
      `copy ${copyName} ${disk}`,
      `disk ${disk} -`,
      `helper pod bind-${copyName} ${disk}`,
      `helper snapshot copy-${copyName} ${disk}`,
    ].toSorted(),
  );

  const moved = (await updateDisk(cloud, request)) ?? '';
  await createVm(cloud, createVmRequest());
  await attachDisk(cloud, { vmCid: vmCidOfTest, diskCid: moved });
  assert.deepEqual(await list(), []);
  const snapshot = await snapshotDisk(cloud, { diskCid: moved, metadata: {} });
  assert.deepEqual(await list(), [`snapshot ${snapshot} ${moved}`]);

  await api.delete({ resource: pods, namespace, name: vmCidOfTest }, { gracePeriodSeconds: 0 });
  assert.deepEqual(
    (await list()).toSorted(),
    [`attachment attach-${moved} ${moved}`, `snapshot ${snapshot} ${moved}`].toSorted(),
  );
  // a VM of another namespace, whose disks are in this one, is unknown here
  const { found: elsewhere } = await listOrphans(api, { vms: 'elsewhere', disks: namespace });
  assert.deepEqual(
    elsewhere.map(({ what }) => what),
    ['snapshot'],
  );
});

test('a copy that no disk names is listed as a leftover; one that has replaced its disk is not', async (t) => {
  const { api, cloud } = await storageCloud(t);
  const list = async (): Promise<string[]> =>
    (await listOrphans(api, { vms: namespace, disks: namespace })).found
      // a deleted snapshot stays until its controller has removed the snapshot of the storage
      .filter(({ what }) => what !== 'helper snapshot')
      .map(({ what, name, disk }) => `${what} ${name} ${disk ?? '-'}`)
      .toSorted();
  const boundDisk = async (): Promise<string> => {
    const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'now' } });
    const reference = { resource: persistentVolumeClaims, namespace, name: disk };
    while ((await api.get<PersistentVolumeClaim>(reference)).status?.phase !== 'Bound') {
      await cloud.clock.sleep(5);
    }
    await setDiskMetadata(cloud, { diskCid: disk, metadata: { deployment: 'd' } });
    return disk;
  };
  const killUpdate = async (disk: string, write: number): Promise<string> => {
    const dying = { ...cloud, api: crashingApi(api, write, 'after') };
    const update = updateDisk(dying, {
      diskCid: disk,
      sizeMiB: 64,
      cloudProperties: { storage_class: 'other' },
    });
    await assert.rejects(update, (error) => error instanceof Crash);
    const claim = await api.get({ resource: persistentVolumeClaims, namespace, name: disk });
    return claim.metadata.annotations?.['bosh.cloudfoundry.org/copy'] ?? '';
  };

  // after the writes: mark, snapshot, replacement, removal of the snapshot
  const disk = await boundDisk();
  const copyName = await killUpdate(disk, 4);
  assert.deepEqual(await list(), [`copy ${copyName} ${disk}`]);
  await api.delete({ resource: persistentVolumeClaims, namespace, name: disk });
  assert.deepEqual(await list(), [`left copy ${copyName} ${disk}`]);
  await api.delete({ resource: persistentVolumeClaims, namespace, name: copyName });
  assert.deepEqual(await list(), []);

  // after those: the disk is marked as replaced
  const next = await boundDisk();
  const successor = await killUpdate(next, 5);
  assert.deepEqual(await list(), [`replaced disk ${next} ${successor}`]);
  assert.equal(await hasDisk(cloud, { diskCid: next }), true);
  assert.deepEqual(await list(), []);
});

test('a VM is listed until its create_vm has finished it or something has described it', async (t) => {
  for (const config of [{}, { kubernetes: { attach: 'recreate' } }]) {
    const { api, cloud } = await storageCloud(t, config);
    const list = async (): Promise<string[]> =>
      (await listOrphans(api, { vms: namespace, disks: namespace })).found.map(
        ({ what, name }) => `${what} ${name}`,
      );
    for (const write of 'kubernetes' in config ? [1, 4] : [1, 2]) {
      const dying = { ...cloud, api: crashingApi(api, write, 'after') };
      await assert.rejects(createVm(dying, createVmRequest()), (error) => error instanceof Crash);
      assert.deepEqual(await list(), [`VM ${vmCidOfTest}`]);
      if (write === 1) await deleteVm(cloud, { vmCid: vmCidOfTest });
    }
    // like a VM that an earlier CPI made, which did not write this label
    await setVmMetadata(cloud, { vmCid: vmCidOfTest, metadata: { deployment: 'dep' } });
    assert.deepEqual(await list(), []);
    if ('kubernetes' in config) {
      await attachDisk(cloud, {
        vmCid: vmCidOfTest,
        diskCid: await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid: vmCidOfTest }),
      });
      await api.delete({ resource: pods, namespace, name: vmCidOfTest }, { gracePeriodSeconds: 0 });
      assert.deepEqual(await list(), []);
    }
    await deleteVm(cloud, { vmCid: vmCidOfTest });
    await createVm(cloud, createVmRequest());
    assert.ok((await list()).every((line) => line.startsWith('disk ')));
  }
});

test('a volume of a deleted disk or VM is listed until it is deleted or bound to another claim', async (t) => {
  const { api, cloud } = await storageCloud(t);
  const metadata = { name: 'kept' };
  const kept = { provisioner: 'bosh-kubernetes.io/local', reclaimPolicy: 'Retain' } as const;
  await api.create<StorageClass>(storageClasses, { metadata, ...kept, volumeBindingMode: 'Immediate' });
  const list = async (): Promise<string[]> =>
    (await listOrphans(api, { vms: 'vms', disks: namespace })).found.map(
      ({ what, name, disk }) => `${what} ${name} ${disk ?? '-'}`,
    );
  const volumeOf = async (name: string): Promise<string> => {
    const read = (): Promise<PersistentVolumeClaim> =>
      api.get({ resource: persistentVolumeClaims, namespace, name });
    await until('the volume', async () => (await read()).status?.phase === 'Bound');
    return (await read()).spec.volumeName ?? '';
  };
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'kept' } });
  const volume = await volumeOf(disk);
  // a volume of another user of that class, and one of a class that deletes its volumes
  await api.create<PersistentVolumeClaim>(persistentVolumeClaims, {
    metadata: { namespace, name: 'disk-of-others' },
    spec: {
      ...{ storageClassName: 'kept', accessModes: ['ReadWriteOnce'] },
      resources: { requests: { storage: '1Mi' } },
    },
  });
  const foreign = await volumeOf('disk-of-others');
  await api.delete({ resource: persistentVolumeClaims, namespace, name: 'disk-of-others' });
  await deleteDisk(cloud, { diskCid: disk });
  const phase = async (name: string): Promise<string | undefined> =>
    (await api.get<PersistentVolume>({ resource: persistentVolumes, name })).status?.phase;
  await until(
    'the release of both volumes',
    async () => (await phase(volume)) === 'Released' && (await phase(foreign)) === 'Released',
  );
  assert.deepEqual(await list(), [`released volume ${volume} ${disk}`]);
  const elsewhere = await listOrphans(api, { vms: namespace, disks: 'elsewhere' });
  assert.deepEqual(elsewhere.found, []);

  // as docs/recovery.md describes
  const reference = { resource: persistentVolumes, name: volume };
  await api.patch(reference, { spec: { claimRef: { uid: null, resourceVersion: null } } });
  const labels = { layout: '1', kind: 'disk', 'disk-id': disk };
  await api.create<PersistentVolumeClaim>(persistentVolumeClaims, {
    metadata: {
      ...{ namespace, name: disk },
      labels: Object.fromEntries(
        Object.entries(labels).map(([key, value]) => [`bosh.cloudfoundry.org/${key}`, value]),
      ),
    },
    spec: {
      ...{ storageClassName: 'kept', accessModes: ['ReadWriteOnce'], volumeName: volume },
      resources: { requests: { storage: '64Mi' } },
    },
  });
  assert.equal(await volumeOf(disk), volume);
  assert.equal(await hasDisk(cloud, { diskCid: disk }), true);
  assert.deepEqual(await list(), []);

  await deleteDisk(cloud, { diskCid: disk });
  await until('the release of the volume', async () => (await phase(volume)) === 'Released');
  await api.patch(reference, { spec: { persistentVolumeReclaimPolicy: 'Delete' } });
  await until(
    'the deletion',
    async () => (await api.get(reference)).metadata.deletionTimestamp !== undefined,
  );
  assert.deepEqual(await list(), []);
});

test('without the right to list Secrets and volumes, other leftovers are listed, and the kinds that were not listed are named', async (t) => {
  const { api, cloud } = await storageCloud(t);
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  const viewer: KubernetesApi = Object.assign(Object.create(api) as KubernetesApi, {
    list: (resource: Resource, query?: ListQuery) =>
      ['secrets', 'persistentvolumes'].includes(resource.plural)
        ? Promise.reject(forbidden(resource, '', 'it is not allowed'))
        : api.list(resource, query),
  });
  const { found, unread } = await listOrphans(viewer, { vms: namespace, disks: namespace });
  assert.deepEqual(
    found.map(({ name }) => name),
    [disk],
  );
  assert.deepEqual(unread, ['vmSecrets', 'volumes']);
});

test('without the right to list pods of VMs, no VM and no attachment is listed as left', async (t) => {
  const { api, cloud } = await storageCloud(t, { kubernetes: { disk_namespace: 'bosh-disks' } });
  await api.create(namespaces, { metadata: { name: 'bosh-disks' } });
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'now' } });
  await attachDisk(cloud, { vmCid: vmCidOfTest, diskCid: disk });
  // A VM that an earlier version of the CPI made has its metadata, and no mark in its Secret.
  await setVmMetadata(cloud, { vmCid: vmCidOfTest, metadata: { deployment: 'dep' } });
  const secret = { resource: secrets, namespace, name: vmCidOfTest };
  await api.patch(secret, { metadata: { annotations: { 'bosh.cloudfoundry.org/creation': null } } });
  const viewer: KubernetesApi = Object.assign(Object.create(api) as KubernetesApi, {
    list: (resource: Resource, query?: ListQuery) =>
      resource.plural === 'pods' && query?.namespace === namespace
        ? Promise.reject(forbidden(resource, '', 'it is not allowed'))
        : api.list(resource, query),
  });
  const { found, unread } = await listOrphans(viewer, { vms: namespace, disks: 'bosh-disks' });
  assert.deepEqual([found.map(({ what, name }) => `${what} ${name}`), unread], [[], ['vmPods']]);
});
