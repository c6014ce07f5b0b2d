import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDisk } from '../../src/cpi/disk/create-disk.ts';
import { hasDisk } from '../../src/cpi/disk/has-disk.ts';
import { setDiskMetadata } from '../../src/cpi/disk/set-disk-metadata.ts';
import { updateDisk } from '../../src/cpi/disk/update-disk.ts';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { snapshotDisk } from '../../src/cpi/snapshot/snapshot-disk.ts';
import { Crash, crashingApi } from '../../src/cpi/testing/crashing-api.ts';
import { storageCloud } from '../../src/cpi/testing/storage-cloud.ts';
import { createVmArguments, namespace, vmCidOfTest } from '../../src/cpi/testing/test-cloud.ts';
import { createVm } from '../../src/cpi/vm/create-vm.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { setVmMetadata } from '../../src/cpi/vm/set-vm-metadata.ts';
import { forbidden } from '../../src/cluster/api/errors/status-errors.ts';
import type { KubernetesApi, ListQuery, Resource } from '../../src/kubernetes/api.ts';
import { persistentVolumeClaims, pods, secrets } from '../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../src/kubernetes/volume.ts';
import { listOrphans } from '../../src/cli/orphans.ts';

test('what killed calls leave is listed, what somebody has is not', async (t) => {
  const { api, cloud } = await storageCloud(t);
  const list = async (): Promise<string[]> =>
    (await listOrphans(api, { vms: namespace, disks: namespace })).found.map(
      ({ what, name, disk }) => `${what} ${name} ${disk ?? '-'}`,
    );
  assert.deepEqual(await list(), []);

  const disk = await createDisk(cloud, [64, { storage_class: 'now' }, null]);
  assert.deepEqual(await list(), [`disk ${disk} -`]);
  const reference = { resource: persistentVolumeClaims, namespace, name: disk };
  while ((await api.get<PersistentVolumeClaim>(reference)).status?.phase !== 'Bound') {
    await cloud.clock.sleep(5);
  }
  const args = [disk, 64, { storage_class: 'later' }];
  const dying = { ...cloud, api: crashingApi(api, 4, 'after') };
  await assert.rejects(updateDisk(dying, args), (error) => error instanceof Crash);
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

  const moved = (await updateDisk(cloud, args)) ?? '';
  await createVm(cloud, createVmArguments());
  await attachDisk(cloud, [vmCidOfTest, moved]);
  assert.deepEqual(await list(), []);
  const snapshot = await snapshotDisk(cloud, [moved, {}]);
  assert.deepEqual(await list(), [`snapshot ${snapshot} ${moved}`]);

  await api.delete({ resource: pods, namespace, name: vmCidOfTest }, { gracePeriodSeconds: 0 });
  assert.deepEqual(
    (await list()).toSorted(),
    [`attachment attach-${moved} ${moved}`, `snapshot ${snapshot} ${moved}`].toSorted(),
  );
  // a VM of another namespace with its disks in this one is not known here
  const { found: elsewhere } = await listOrphans(api, { vms: 'elsewhere', disks: namespace });
  assert.deepEqual(
    elsewhere.map(({ what }) => what),
    ['snapshot'],
  );
});

test('a copy that no disk names is listed as left; one that has taken the place of its disk is not', async (t) => {
  const { api, cloud } = await storageCloud(t);
  const list = async (): Promise<string[]> =>
    (await listOrphans(api, { vms: namespace, disks: namespace })).found
      // one that is deleted stays until its controller has removed what it stands for
      .filter(({ what }) => what !== 'helper snapshot')
      .map(({ what, name, disk }) => `${what} ${name} ${disk ?? '-'}`)
      .toSorted();
  const boundDisk = async (): Promise<string> => {
    const disk = await createDisk(cloud, [64, { storage_class: 'now' }, null]);
    const reference = { resource: persistentVolumeClaims, namespace, name: disk };
    while ((await api.get<PersistentVolumeClaim>(reference)).status?.phase !== 'Bound') {
      await cloud.clock.sleep(5);
    }
    await setDiskMetadata(cloud, [disk, { deployment: 'd' }]);
    return disk;
  };
  const killUpdate = async (disk: string, write: number): Promise<string> => {
    const dying = { ...cloud, api: crashingApi(api, write, 'after') };
    const update = updateDisk(dying, [disk, 64, { storage_class: 'other' }]);
    await assert.rejects(update, (error) => error instanceof Crash);
    const claim = await api.get({ resource: persistentVolumeClaims, namespace, name: disk });
    return claim.metadata.annotations?.['bosh.cloudfoundry.org/copy'] ?? '';
  };

  // after the writes: mark, snapshot, copy, removal of the snapshot
  const disk = await boundDisk();
  const copyName = await killUpdate(disk, 4);
  assert.deepEqual(await list(), [`copy ${copyName} ${disk}`]);
  await api.delete({ resource: persistentVolumeClaims, namespace, name: disk });
  assert.deepEqual(await list(), [`left copy ${copyName} ${disk}`]);
  await api.delete({ resource: persistentVolumeClaims, namespace, name: copyName });
  assert.deepEqual(await list(), []);

  // after those: the disk says that it is replaced
  const next = await boundDisk();
  const successor = await killUpdate(next, 5);
  assert.deepEqual(await list(), [`replaced disk ${next} ${successor}`]);
  assert.equal(await hasDisk(cloud, [next]), true);
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
      await assert.rejects(createVm(dying, createVmArguments()), (error) => error instanceof Crash);
      assert.deepEqual(await list(), [`VM ${vmCidOfTest}`]);
      if (write === 1) await deleteVm(cloud, [vmCidOfTest]);
    }
    // as one that an earlier CPI made, which did not mark it
    await setVmMetadata(cloud, [vmCidOfTest, { deployment: 'dep' }]);
    assert.deepEqual(await list(), []);
    if ('kubernetes' in config) {
      await attachDisk(cloud, [vmCidOfTest, await createDisk(cloud, [64, {}, vmCidOfTest])]);
      await api.delete({ resource: pods, namespace, name: vmCidOfTest }, { gracePeriodSeconds: 0 });
      assert.deepEqual(await list(), []);
    }
    await deleteVm(cloud, [vmCidOfTest]);
    await createVm(cloud, createVmArguments());
    assert.ok((await list()).every((line) => line.startsWith('disk ')));
  }
});

test('without the right to list Secrets the other objects are listed, and VMs are said to be unknown', async (t) => {
  const { api, cloud } = await storageCloud(t);
  const disk = await createDisk(cloud, [64, {}, null]);
  const viewer: KubernetesApi = Object.assign(Object.create(api) as KubernetesApi, {
    list: (resource: Resource, query?: ListQuery) =>
      resource.plural === 'secrets'
        ? Promise.reject(forbidden(secrets, '', 'it is not allowed'))
        : api.list(resource, query),
  });
  const { found, areVmsKnown } = await listOrphans(viewer, { vms: namespace, disks: namespace });
  assert.deepEqual(
    found.map(({ name }) => name),
    [disk],
  );
  assert.equal(areVmsKnown, false);
});
