import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import { persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { annotation } from '../objects/labels.ts';
import {
  createVmRequest,
  namesLeft,
  namespace,
  testCloud,
  vmCidOfTest as vmCid,
} from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';
import { hasVm } from '../vm/has-vm.ts';
import { attachDisk } from './attach-disk.ts';
import { createDisk } from './create-disk.ts';
import { detachDisk } from './detach-disk.ts';
import { getDisks } from './get-disks.ts';

const reference = (name: string) => ({ resource: persistentVolumeClaims, namespace, name });
const wouldBeLost = (error: unknown): boolean => {
  assert.ok(isProductError(error, 'DISK_WOULD_BE_LOST'), String(error));
  assert.match(error.message, /kubectl patch pv pv-1 .*Retain.* kubectl annotate pvc disk-/u);
  return true;
};

/** Makes a VM with a bound disk whose claim another program has deleted; its protection keeps it. */
async function deletedClaim(cloud: CallContext): Promise<string> {
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  await cloud.api.patch(reference(disk), {
    metadata: { finalizers: ['kubernetes.io/pvc-protection'] },
    spec: { volumeName: 'pv-1' },
  });
  await cloud.api.delete(reference(disk));
  return disk;
}

for (const attach of ['hot', 'recreate']) {
  test(`${attach}: a disk whose claim was deleted is not let go before its owner says so`, async (t) => {
    const { cloud, api, node } = await testCloud(t, { kubernetes: { attach } });
    node.keepsClaims = true;
    const disk = await deletedClaim(cloud);
    const before = await namesLeft(api);
    await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), wouldBeLost);
    await assert.rejects(deleteVm(cloud, { vmCid }), wouldBeLost);
    assert.deepEqual(await namesLeft(api), before);
    assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
    assert.deepEqual([...node.releasedDisks], []);

    await api.patch(reference(disk), { metadata: { annotations: { [annotation.giveUp]: 'true' } } });
    await detachDisk(cloud, { vmCid, diskCid: disk });
    assert.deepEqual(await getDisks(cloud, { vmCid }), []);
    await deleteVm(cloud, { vmCid });
  });
}

test('recreate: no other disk is attached, which would make the pod anew without the deleted one', async (t) => {
  const { cloud, node } = await testCloud(t, { kubernetes: { attach: 'recreate' } });
  node.keepsClaims = true;
  const disk = await deletedClaim(cloud);
  const other = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await assert.rejects(attachDisk(cloud, { vmCid, diskCid: other }), wouldBeLost);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
});

test('hot: a verb that meets the VM on its way out keeps the attachment of such a disk', async (t) => {
  const { cloud, api, node } = await testCloud(t);
  node.keepsClaims = true;
  const disk = await deletedClaim(cloud);
  await api.delete({ resource: pods, namespace, name: vmCid });
  assert.equal(await hasVm(cloud, { vmCid }), true);
  const attachment = await api.get({ resource: pods, namespace, name: `attach-${disk}` });
  assert.equal(attachment.metadata.deletionTimestamp, undefined);
  await assert.rejects(deleteVm(cloud, { vmCid }), wouldBeLost);

  await api.patch(reference(disk), { metadata: { annotations: { [annotation.giveUp]: 'true' } } });
  await deleteVm(cloud, { vmCid });
  await assert.rejects(api.get({ resource: pods, namespace, name: `attach-${disk}` }), (error) =>
    isApiError(error, 404),
  );
});
