import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import { namespace, testCloud } from '../../testing/test-cloud.ts';
import { createDisk } from '../create-disk.ts';
import { changeAttributesClass } from './modify.ts';

test('a driver that refuses attributes without a reason: the error says that it gave none', async (t) => {
  const { cloud, api } = await testCloud(t);
  const disk = await createDisk(cloud, [64, {}, null]);
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
