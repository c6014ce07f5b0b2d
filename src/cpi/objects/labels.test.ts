import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import { setDiskMetadata } from '../disk/set-disk-metadata.ts';
import { updateDisk } from '../disk/update-disk.ts';
import { annotation } from './labels.ts';
import { boundDisk, claimOf } from '../testing/bound-disk.ts';
import { rejection } from '../testing/rejection.ts';
import { atRequest, interceptingApi } from '../testing/intercepting-api.ts';
import { storageCloud } from '../testing/storage-cloud.ts';
import { namespace, testCloud } from '../testing/test-cloud.ts';
import { setVmMetadata } from '../vm/set-vm-metadata.ts';

test('metadata is set on nothing that is not ours: it is not found', async (t) => {
  const { cloud, api } = await testCloud(t);
  await api.create<Pod>(pods, {
    metadata: { name: 'vm-foreign', namespace },
    spec: { containers: [{ name: 'c', image: 'i', command: ['c'] }] },
  });
  await api.create<KubernetesObject & { spec: unknown }>(persistentVolumeClaims, {
    metadata: { name: 'disk-foreign', namespace },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
  });
  const metadata = { deployment: 'd' };
  await assert.rejects(setVmMetadata(cloud, { vmCid: 'vm-foreign', metadata }), rejection('VM_NOT_FOUND'));
  await assert.rejects(
    setDiskMetadata(cloud, { diskCid: 'disk-foreign', metadata }),
    rejection('DISK_NOT_FOUND'),
  );
  for (const [resource, name] of [
    [pods, 'vm-foreign'],
    [persistentVolumeClaims, 'disk-foreign'],
  ] as const) {
    const { labels, annotations } = (await api.get({ resource, namespace, name })).metadata;
    assert.deepEqual([labels, annotations?.[annotation.metadata]], [undefined, undefined]);
  }
});

test('metadata for a disk that a copy replaces between the look and the write is that of the copy', async (t) => {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  let copy: string | null = null;
  const intercept = atRequest(`patch persistentvolumeclaims ${disk}`, async () => {
    copy = await updateDisk(world.cloud, {
      diskCid: disk,
      sizeMiB: 64,
      cloudProperties: { storage_class: 'other' },
    });
  });
  const cloud = { ...world.cloud, api: interceptingApi(world.api, intercept) };
  await setDiskMetadata(cloud, { diskCid: disk, metadata: { deployment: 'zookeeper' } });
  const { annotations } = (await claimOf(world, copy ?? '')).metadata;
  assert.match(annotations?.[annotation.metadata] ?? '', /zookeeper/u);
});
