import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { events, persistentVolumeClaims, storageClasses } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim, StorageClass } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { boundDisk, claimOf } from '../testing/bound-disk.ts';
import { rejection } from '../testing/rejection.ts';
import { storageCloud } from '../testing/storage-cloud.ts';
import { namespace, testCloud } from '../testing/test-cloud.ts';
import { parseBytes, hasReachedSize } from './disks.ts';
import { createDisk } from './create-disk.ts';
import { resizeDisk } from './resize-disk.ts';
import { verbOf } from '../testing/verb-of.ts';

test('resize_disk grows, also a second time; the size that it has is success', async (t) => {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  for (const size of [128, 128, 256]) {
    await resizeDisk(world.cloud, { diskCid: disk, sizeMiB: size });
    assert.equal((await claimOf(world, disk)).status?.capacity?.['storage'], `${size}Mi`);
  }
});

test('resize_disk: what cannot be done is NotSupported, and nothing changed', async (t) => {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  const fixed = await boundDisk(world, 'fixed');
  const unbound = await createDisk(world.cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'later' } });
  await resizeDisk(world.cloud, { diskCid: unbound, sizeMiB: 64 });
  const cases: [string, number, RegExp][] = [
    [disk, 63, /do not shrink/u],
    [fixed, 65, /allowVolumeExpansion/u],
    [unbound, 65, /never attached/u],
  ];
  for (const [cid, size, message] of cases) {
    const before = await claimOf(world, cid);
    await assert.rejects(
      resizeDisk(world.cloud, { diskCid: cid, sizeMiB: size }),
      rejection('NOT_SUPPORTED', message),
    );
    assert.deepEqual(await claimOf(world, cid), before);
  }
  await assert.rejects(
    resizeDisk(world.cloud, { diskCid: 'disk-none', sizeMiB: 64 }),
    rejection('DISK_NOT_FOUND'),
  );
  for (const size of [0, -1, 1.5, '64', null, undefined]) {
    await assert.rejects(
      verbOf('resize_disk')(world.cloud, [disk, size]),
      rejection('INVALID_ARGUMENT', /new_size/u),
    );
  }
});

/** Makes a disk of a driver that the test itself simulates; `say` writes the claim's status. */
async function drivenDisk(
  t: TestContext,
  config: Record<string, unknown> = {},
): Promise<{ cloud: CallContext; disk: string; asked: (size: string) => Promise<void>; say: Say }> {
  const { cloud, api } = await testCloud(t, config);
  await api.create<StorageClass>(storageClasses, {
    metadata: { name: 'driven' },
    provisioner: 'driver.example',
    allowVolumeExpansion: true,
  });
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'driven' } });
  const reference = { resource: persistentVolumeClaims, namespace, name: disk };
  const say: Say = (status) => api.patch(reference, { status }, { subresource: 'status' });
  await say({ phase: 'Bound', capacity: { storage: '64Mi' } });
  const asked = async (size: string): Promise<void> => {
    for (;;) {
      const { spec } = await api.get<PersistentVolumeClaim>(reference);
      if (spec.resources?.requests?.['storage'] === size) return;
      await cloud.clock.sleep(5);
    }
  };
  return { cloud, disk, asked, say };
}

type Say = (status: object) => Promise<KubernetesObject>;

test('a file system that grows at the next mount counts as done', async (t) => {
  const { cloud, disk, asked, say } = await drivenDisk(t);
  const conditions = [{ type: 'FileSystemResizePending', status: 'True' }];
  for (const size of [128, 256]) {
    const resized = resizeDisk(cloud, { diskCid: disk, sizeMiB: size });
    await asked(`${size}Mi`);
    await say({ conditions, allocatedResources: { storage: `${size}Mi` } });
    assert.equal(await resized, null);
  }
});

test('a pending file system is that of the growth that was asked for, not of an earlier one', () => {
  const claim = (allocated?: string): PersistentVolumeClaim => ({
    metadata: { name: 'disk-1', namespace },
    spec: {},
    status: {
      capacity: { storage: '64Mi' },
      conditions: [{ type: 'FileSystemResizePending', status: 'True' }],
      ...(allocated !== undefined && { allocatedResources: { storage: allocated } }),
    },
  });
  assert.equal(hasReachedSize(claim('128Mi'), parseBytes(256)), false);
  assert.equal(hasReachedSize(claim('256Mi'), parseBytes(256)), true);
  assert.equal(
    hasReachedSize(claim(), parseBytes(256)),
    true,
    'clusters before Kubernetes 1.34 may not say it',
  );
});

test('a size that the driver says it never can do is an error', async (t) => {
  const { cloud, disk, say } = await drivenDisk(t);
  await say({ allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' } });
  await assert.rejects(
    resizeDisk(cloud, { diskCid: disk, sizeMiB: 128 }),
    rejection('DISK_UPDATE_FAILED', /ControllerResizeInfeasible/u),
  );
  const type = 'ControllerResizeError';
  await say({ conditions: [{ type, status: 'True', message: 'expanding disk-1: at most 100 MiB' }] });
  await assert.rejects(
    resizeDisk(cloud, { diskCid: disk, sizeMiB: 128 }),
    rejection('DISK_UPDATE_FAILED', /its driver reports expanding disk-1: at most 100 MiB/u),
  );
});

test('a driver that does not grow the volume in time: the size, the time and the last events; the call again goes on', async (t) => {
  const { cloud, disk, say } = await drivenDisk(t, { deadlines: { resize_disk: 1 } });
  await cloud.api.create(events, {
    metadata: { name: `${disk}.1`, namespace },
    involvedObject: { kind: 'PersistentVolumeClaim', namespace, name: disk },
    reason: 'ExternalExpanding',
    message: 'waiting for an external controller to expand this PVC',
  } as KubernetesObject);
  await assert.rejects(
    resizeDisk(cloud, { diskCid: disk, sizeMiB: 128 }),
    rejection(
      'DEADLINE',
      /waited 1 s for disk 'disk-\S+' to have 128 MiB; last known: ExternalExpanding: waiting for an external controller to expand this PVC; check that the resizer of its driver runs, then repeat the call/u,
    ),
  );
  await say({ capacity: { storage: '128Mi' } });
  assert.equal(await resizeDisk(cloud, { diskCid: disk, sizeMiB: 128 }), null);
});
