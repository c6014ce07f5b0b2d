import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDisk } from '../../src/cpi/disk/create-disk.ts';
import { updateDisk } from '../../src/cpi/disk/update-disk.ts';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { snapshotDisk } from '../../src/cpi/snapshot/snapshot-disk.ts';
import { Crash, crashingApi } from '../../src/cpi/testing/crashing-api.ts';
import { storageCloud } from '../../src/cpi/testing/storage-cloud.ts';
import { createVmArguments, namespace, vmCidOfTest } from '../../src/cpi/testing/test-cloud.ts';
import { createVm } from '../../src/cpi/vm/create-vm.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { setVmMetadata } from '../../src/cpi/vm/set-vm-metadata.ts';
import { persistentVolumeClaims, pods } from '../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../src/kubernetes/volume.ts';
import { listOrphans } from '../../src/cli/orphans.ts';

test('what killed calls leave is listed, what somebody has is not', async (t) => {
  const { api, cloud } = await storageCloud(t);
  const list = async (): Promise<string[]> =>
    (await listOrphans(api, { vms: namespace, disks: namespace })).map(
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
  const elsewhere = await listOrphans(api, { vms: 'elsewhere', disks: namespace });
  assert.deepEqual(
    elsewhere.map(({ what }) => what),
    ['snapshot'],
  );
});

test('a VM is listed until its create_vm has finished it or something has described it', async (t) => {
  for (const config of [{}, { kubernetes: { attach: 'recreate' } }]) {
    const { api, cloud } = await storageCloud(t, config);
    const list = async (): Promise<string[]> =>
      (await listOrphans(api, { vms: namespace, disks: namespace })).map(
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
