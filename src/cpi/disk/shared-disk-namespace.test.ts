import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namespaces, persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import { rejection } from '../testing/rejection.ts';
import {
  agentId,
  createVmRequest,
  namespace,
  testCloud,
  vmCidOfTest as vmCid,
} from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { attachDisk } from './attach-disk.ts';
import { createDisk } from './create-disk.ts';
import { deleteDisk } from './delete-disk.ts';
import { resizeDisk } from './resize-disk.ts';
import { updateDisk } from './update-disk.ts';

const disks = 'bosh-disks';
const ofTheOther = new RegExp(`VM '${vmCid}' of namespace ${namespace}`, 'u');

test('a disk of a VM in another namespace, whose disks are in the same one, is attached there for everybody', async (t) => {
  const kubernetes = { disk_namespace: disks };
  const { cloud, api } = await testCloud(t, { kubernetes });
  for (const name of [disks, 'bosh-beside']) await api.create(namespaces, { metadata: { name } });
  const beside = { ...cloud, namespace: 'bosh-beside' };
  await createVm(cloud, createVmRequest());
  const other = agentId.replace(/1$/u, '2');
  await createVm(beside, createVmRequest({ agentId: other, networks: { default: { type: 'dynamic' } } }));
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  const before = await api.get({ resource: pods, namespace: disks, name: `attach-${disk}` });

  for (const call of [
    () => deleteDisk(beside, { diskCid: disk }),
    () => resizeDisk(beside, { diskCid: disk, sizeMiB: 128 }),
    () => updateDisk(beside, { diskCid: disk, sizeMiB: 64, cloudProperties: {} }),
  ])
    await assert.rejects(call(), rejection('DISK_BUSY', ofTheOther));
  await assert.rejects(
    attachDisk(beside, { vmCid: `vm-${other}`, diskCid: disk }),
    rejection('DISK_ATTACHED_ELSEWHERE', ofTheOther),
  );

  const after = await api.get({ resource: pods, namespace: disks, name: `attach-${disk}` });
  assert.deepEqual(after, before);
  assert.ok(await api.get({ resource: persistentVolumeClaims, namespace: disks, name: disk }));
});
