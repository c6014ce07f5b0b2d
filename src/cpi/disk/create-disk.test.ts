import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { volumeAttributesClasses, volumeSnapshotClasses } from '../../kubernetes/resources.ts';
import { diskObjects } from '../testing/bound-disk.ts';
import { rejection } from '../testing/rejection.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { storageCloud } from '../testing/storage-cloud.ts';
import { createDisk } from './create-disk.ts';

const notServed = new ApiError({
  ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', details: {} },
  ...{ reason: 'NotFound', code: 404, message: 'the server could not find the requested resource' },
});

for (const [key, plural] of [
  ['volume_attributes_class', 'volumeattributesclasses.storage.k8s.io/v1'],
  ['snapshot_class', 'volumesnapshotclasses.snapshot.storage.k8s.io/v1'],
] as const) {
  test(`create_disk with a ${key} says whether the cluster lacks the class or the API, and makes nothing`, async (t) => {
    const world = await storageCloud(t);
    const create = (cloud = world.cloud): Promise<string> =>
      createDisk(cloud, { sizeMiB: 64, cloudProperties: { [key]: 'gold' } });
    await assert.rejects(create(), rejection('INVALID_ARGUMENT', /does not have: "gold"/u));
    const api = interceptingApi(world.api, (request) =>
      request.startsWith('get volume') ? Promise.reject(notServed) : Promise.resolve(),
    );
    const noApi = new RegExp(`${key} names a class, and the cluster has no API .*\\(${plural}\\)`, 'u');
    await assert.rejects(create({ ...world.cloud, api }), rejection('INVALID_ARGUMENT', noApi));
    assert.deepEqual(await diskObjects(world), []);
  });
}

for (const [key, resource, driver] of [
  ['volume_attributes_class', volumeAttributesClasses, 'driverName'],
  ['snapshot_class', volumeSnapshotClasses, 'driver'],
] as const) {
  test(`create_disk with a ${key} of another driver than its storage_class is refused, and makes nothing`, async (t) => {
    const world = await storageCloud(t);
    const more =
      resource === volumeSnapshotClasses ? { deletionPolicy: 'Delete' } : { parameters: { iops: '1' } };
    for (const [name, whose] of [
      ['theirs', 'driver.example'],
      ['ours', 'bosh-kubernetes.io/local'],
    ] as const) {
      const gold: KubernetesObject = { metadata: { name }, ...{ [driver]: whose }, ...more };
      await world.api.create(resource, gold);
    }
    await assert.rejects(
      createDisk(world.cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'now', [key]: 'theirs' } }),
      rejection(
        'INVALID_ARGUMENT',
        new RegExp(`${key} names a class of driver driver\\.example, .*"now" is of driver bosh-`, 'u'),
      ),
    );
    assert.deepEqual(await diskObjects(world), []);
    await createDisk(world.cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'now', [key]: 'ours' } });
  });
}
