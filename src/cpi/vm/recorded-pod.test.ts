import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pods } from '../../kubernetes/resources.ts';
import { attachDisk } from '../disk/attach-disk.ts';
import { createDisk } from '../disk/create-disk.ts';
import { annotation, label } from '../objects/labels.ts';
import { holdCall } from '../testing/held-call.ts';
import { createVmRequest, namespace, testCloud, vmCidOfTest as cid } from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import { setVmMetadata } from './set-vm-metadata.ts';

test('metadata that a VM gets after attach_disk has recorded its disks is on its next pod', async (t) => {
  const { cloud, api } = await testCloud(t, { kubernetes: { attach: 'recreate' } });
  await createVm(cloud, createVmRequest());
  await setVmMetadata(cloud, { vmCid: cid, metadata: { deployment: 'former', job: 'group' } });
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  const reference = { resource: pods, namespace, name: cid };
  const { uid } = (await api.get(reference)).metadata;

  const attaching = holdCall(cloud, `delete pods ${cid}`, (held) =>
    attachDisk(held, { vmCid: cid, diskCid: disk }),
  );
  await attaching.arrived;
  await setVmMetadata(cloud, { vmCid: cid, metadata: { deployment: 'later' } });
  await attaching.release();

  const { metadata } = await api.get(reference);
  assert.notEqual(metadata.uid, uid);
  assert.equal(metadata.annotations?.[annotation.metadata], '{"deployment":"later"}');
  assert.equal(metadata.labels?.[label.deployment], 'later');
  assert.equal(metadata.labels?.[label.instanceGroup], undefined);
});
