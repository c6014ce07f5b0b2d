import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProductError } from '../../errors/product-error.ts';
import type { ObjectReference } from '../../kubernetes/api.ts';
import { nodes, persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { annotation, label } from '../objects/labels.ts';
import { Crash, crashingApi } from '../testing/crashing-api.ts';
import { nodeName } from '../testing/fake-node.ts';
import { type Intercept, atRequest, interceptingApi } from '../testing/intercepting-api.ts';
import { type StorageCloud, storageCloud } from '../testing/storage-cloud.ts';
import { createVmRequest, namespace, testCloud, vmCidOfTest as vmCid } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { attachDisk } from './attach-disk.ts';
import { createDisk } from './create-disk.ts';
import { deleteDisk } from './delete-disk.ts';
import { detachDisk } from './detach-disk.ts';
import { getDisks } from './get-disks.ts';
import { setDiskMetadata } from './set-disk-metadata.ts';
import { updateDisk } from './update-disk.ts';
import { rejection } from '../testing/rejection.ts';

const recreate = { kubernetes: { attach: 'recreate' } };
const podReference = (name: string): ObjectReference => ({ resource: pods, namespace, name });
const claimOf = ({ api }: CallContext, name: string): Promise<PersistentVolumeClaim> =>
  api.get({ resource: persistentVolumeClaims, namespace, name });

const meeting = (cloud: CallContext, intercept: Intercept): CallContext => ({
  ...cloud,
  api: interceptingApi(cloud.api, intercept),
});

async function boundDisk({ cloud }: StorageCloud): Promise<string> {
  const cid = await createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'now' } });
  while ((await claimOf(cloud, cid)).status?.phase !== 'Bound') await cloud.clock.sleep(5);
  return cid;
}

test('update_disk does not delete a disk that another process has attached since', async (t) => {
  const world = await storageCloud(t);
  const { cloud } = world;
  await createVm(cloud, createVmRequest());
  for (const [moment, count] of [
    ['get', 3],
    ['patch', 2],
  ] as const) {
    const disk = await boundDisk(world);
    // the last read of the disk, and the write that records that it is replaced
    const intercept = atRequest(
      `${moment} persistentvolumeclaims ${disk}`,
      async () => {
        await attachDisk(cloud, { vmCid, diskCid: disk });
      },
      count,
    );
    await assert.rejects(
      updateDisk(meeting(cloud, intercept), {
        diskCid: disk,
        sizeMiB: 128,
        cloudProperties: { storage_class: 'other' },
      }),
      rejection('DISK_BUSY'),
    );
    const { metadata } = await claimOf(cloud, disk);
    assert.equal(metadata.deletionTimestamp, undefined);
    assert.equal(metadata.annotations?.[annotation.replacement], undefined);
    assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
    await detachDisk(cloud, { vmCid, diskCid: disk });
  }
});

test('a copy that has become the disk is not dropped by who read the disk before', async (t) => {
  const world = await storageCloud(t);
  const { cloud } = world;
  await createVm(cloud, createVmRequest());
  const disk = await boundDisk(world);
  const update = { diskCid: disk, sizeMiB: 128, cloudProperties: { storage_class: 'other' } };
  await assert.rejects(
    updateDisk({ ...cloud, api: crashingApi(cloud.api, 2, 'after') }, update),
    (error) => error instanceof Crash,
  );
  const copy = (await claimOf(cloud, disk)).metadata.annotations?.[annotation.replacement] ?? '';
  const intercept = atRequest(`patch persistentvolumeclaims ${disk}`, async () => {
    assert.equal(await updateDisk(cloud, update), copy);
  });
  await assert.rejects(
    attachDisk(meeting(cloud, intercept), { vmCid, diskCid: disk }),
    rejection('DISK_BUSY'),
  );
  assert.equal((await claimOf(cloud, copy)).metadata.deletionTimestamp, undefined);
  await attachDisk(cloud, { vmCid, diskCid: disk });
  assert.deepEqual(await getDisks(cloud, { vmCid }), [copy]);
});

test('metadata for a disk that is just being replaced is that of its copy', async (t) => {
  const world = await storageCloud(t);
  const { cloud, node } = world;
  const disk = await boundDisk(world);
  node.keepsClaims = true;
  const hasty = { ...cloud.config, deadlines: { ...cloud.config.deadlines, deleteDisk: 1 } };
  await assert.rejects(
    updateDisk(
      { ...cloud, config: hasty },
      { diskCid: disk, sizeMiB: 128, cloudProperties: { storage_class: 'other' } },
    ),
    rejection('DEADLINE'),
  );
  const { metadata } = await claimOf(cloud, disk);
  assert.notEqual(metadata.deletionTimestamp, undefined);
  await setDiskMetadata(cloud, { diskCid: disk, metadata: { deployment: 'zookeeper' } });
  const copy = await claimOf(cloud, metadata.annotations?.[annotation.replacement] ?? '');
  assert.match(copy.metadata.annotations?.[annotation.metadata] ?? '', /zookeeper/u);
});

test('a slow detach by recreate does not take the disk from the VM that has it by now', async (t) => {
  const { cloud } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  const networks = { default: { type: 'dynamic' } };
  const [other] = await createVm(cloud, createVmRequest({ agentId: 'other', networks }));
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  const intercept = atRequest(`patch persistentvolumeclaims ${disk}`, async () => {
    await detachDisk(cloud, { vmCid, diskCid: disk });
    await attachDisk(cloud, { vmCid: other, diskCid: disk });
  });
  await detachDisk(meeting(cloud, intercept), { vmCid, diskCid: disk });
  assert.equal((await claimOf(cloud, disk)).metadata.labels?.[label.vmId], other);
});

test('an attach of a disk that is attached already fails without taking it away: recreate', async (t) => {
  const { cloud } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  const { uid } = (await cloud.api.get(podReference(vmCid))).metadata;
  const failing = atRequest(
    `get pods ${vmCid}`,
    () => Promise.reject(new ProductError('DEADLINE', 'slow')),
    2,
  );
  await assert.rejects(
    attachDisk(meeting(cloud, failing), { vmCid, diskCid: disk }),
    rejection('DISK_NOT_ATTACHABLE', /: slow; .*stays attached/u),
  );
  assert.equal((await cloud.api.get(podReference(vmCid))).metadata.uid, uid);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
});

test('an attach of a disk that is attached already fails without taking it away: hot', async (t) => {
  const { cloud } = await testCloud(t, { deadlines: { attach_disk: 1 } });
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  const { uid } = (await cloud.api.get(podReference(`attach-${disk}`))).metadata;
  const deaf = { ...cloud, exec: () => Promise.reject(new ProductError('DEADLINE', 'no answer')) };
  await assert.rejects(attachDisk(deaf, { vmCid, diskCid: disk }), rejection('DEADLINE'));
  const { metadata } = await cloud.api.get(podReference(`attach-${disk}`));
  assert.deepEqual([metadata.uid, metadata.deletionTimestamp], [uid, undefined]);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
});

test('an attachment that a killed attach left, and that never got into the VM, can be detached', async (t) => {
  const { cloud, node } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  await cloud.api.create(nodes, { metadata: { name: nodeName } });
  node.brokenDisks.set(disk, 'cannot be written');
  const dying = { ...cloud, api: crashingApi(cloud.api, 1, 'after') };
  await assert.rejects(attachDisk(dying, { vmCid, diskCid: disk }), (error) => error instanceof Crash);
  const deaf = {
    ...cloud,
    exec: () => Promise.reject(new ProductError('KUBERNETES_API', 'container hold is not running')),
  };
  await detachDisk(deaf, { vmCid, diskCid: disk });
  assert.deepEqual(await getDisks(cloud, { vmCid }), []);
  assert.equal(await deleteDisk(cloud, { diskCid: disk }), null);
});

for (const attach of ['hot', 'recreate']) {
  test(`${attach}: who cannot be asked keeps what it has, and the error says for how long nobody answered`, async (t) => {
    const { cloud } = await testCloud(t, { kubernetes: { attach } });
    await createVm(cloud, createVmRequest());
    const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
    await cloud.api.create(nodes, { metadata: { name: nodeName } });
    await attachDisk(cloud, { vmCid, diskCid: disk });
    const deaf = {
      ...cloud,
      exec: () => Promise.reject(new ProductError('KUBERNETES_API', 'no route to it')),
    };
    await assert.rejects(
      detachDisk(deaf, { vmCid, diskCid: disk }),
      rejection('DISK_BUSY', /could not be (reached|checked) for 1 s .*\(no route to it\); /u),
    );
    assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
  });
}

test("create_vm deletes no claim of somebody else's that has the name of one of its own", async (t) => {
  const { cloud } = await testCloud(t, recreate);
  const name = `${vmCid}-state`;
  const theirs: PersistentVolumeClaim = {
    metadata: { name, namespace },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
  };
  const { uid } = (await cloud.api.create(persistentVolumeClaims, theirs)).metadata;
  await assert.rejects(createVm(cloud, createVmRequest()), rejection('VM_CREATION_FAILED'));
  const { metadata } = await claimOf(cloud, name);
  assert.deepEqual([metadata.uid, metadata.deletionTimestamp], [uid, undefined]);
});
