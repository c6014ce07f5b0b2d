import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { persistentVolumeClaims } from '../../../kubernetes/resources.ts';
import type { CallContext } from '../../call.ts';
import { annotation, label } from '../../objects/labels.ts';
import { boundDisk, claimOf, diskObjects } from '../../testing/bound-disk.ts';
import { Crash, crashingApi } from '../../testing/crashing-api.ts';
import { atRequest, interceptingApi } from '../../testing/intercepting-api.ts';
import { rejection } from '../../testing/rejection.ts';
import { storageCloud, type StorageCloud } from '../../testing/storage-cloud.ts';
import { createVmRequest, namespace, vmCidOfTest as vmCid } from '../../testing/test-cloud.ts';
import { createVm } from '../../vm/create-vm.ts';
import { attachDisk } from '../attach-disk.ts';
import { resizeDisk } from '../resize-disk.ts';
import { setDiskMetadata } from '../set-disk-metadata.ts';
import { updateDisk } from '../update-disk.ts';

/**
 * If a call describes or changes the disk while update_disk copies it, the change must apply to the
 * replacement, too.
 */

const other = { storage_class: 'other' };
const before = { deployment: 'before', instance_group: 'router', id: '1' };
const after = { deployment: 'after', index: 7 };

async function describedDisk(t: TestContext): Promise<StorageCloud & { disk: string }> {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  await setDiskMetadata(world.cloud, { diskCid: disk, metadata: before });
  return { ...world, disk };
}

/**
 * Returns a context that does something else before its n-th write of the disk's claim: 1 marks the
 * replacement, 2 replaces the disk.
 */
const beforeWrite = (
  cloud: CallContext,
  { disk, count }: { disk: string; count: number },
  action: () => Promise<unknown>,
): CallContext => {
  const at = atRequest(
    `patch persistentvolumeclaims ${disk}`,
    async () => {
      await action();
    },
    count,
  );
  return { ...cloud, api: interceptingApi(cloud.api, at) };
};

async function assertDescribed(world: StorageCloud, copy: string): Promise<void> {
  const { annotations, labels = {} } = (await claimOf(world, copy)).metadata;
  assert.deepEqual(JSON.parse(annotations?.[annotation.metadata] ?? ''), after);
  assert.deepEqual(
    [label.deployment, label.instanceGroup, label.id, label.index, label.diskId].map((name) => labels[name]),
    ['after', undefined, undefined, '7', copy],
  );
}

test('metadata that set_disk_metadata gives a disk while update_disk copies it is that of the copy', async (t) => {
  const world = await describedDisk(t);
  const { cloud, api, disk } = world;
  const describing = beforeWrite(cloud, { disk, count: 2 }, async () => {
    await setDiskMetadata(cloud, { diskCid: disk, metadata: after });
    const patch = { metadata: { labels: { 'example.com/tier': 'gold' } } };
    await api.patch({ resource: persistentVolumeClaims, namespace, name: disk }, patch);
  });
  const copy = await updateDisk(describing, { diskCid: disk, sizeMiB: 64, cloudProperties: other });
  assert.ok(copy !== null);
  await assertDescribed(world, copy);
  assert.equal((await claimOf(world, copy)).metadata.labels?.['example.com/tier'], 'gold');
});

test('… and so is what it got when an update_disk had been killed, which the next one finishes', async (t) => {
  const world = await describedDisk(t);
  const { cloud, disk } = world;
  // mark, snapshot, replacement
  const killed = { ...cloud, api: crashingApi(cloud.api, 3, 'after') };
  await assert.rejects(
    updateDisk(killed, { diskCid: disk, sizeMiB: 64, cloudProperties: other }),
    (error) => error instanceof Crash,
  );
  const made = (await claimOf(world, disk)).metadata.annotations?.[annotation.replacement];
  await setDiskMetadata(cloud, { diskCid: disk, metadata: after });
  const copy = await updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: other });
  assert.equal(copy, made);
  await assertDescribed(world, copy ?? '');
});

test('… and a call that is slow to put the copy in the place of the disk takes nothing back that it got since', async (t) => {
  const world = await describedDisk(t);
  const { cloud, disk } = world;
  let isDescribed = false;
  const slow = interceptingApi(cloud.api, async (request) => {
    const isOfCopy = request.startsWith('patch persistentvolumeclaims ') && !request.endsWith(disk);
    if (isDescribed || !isOfCopy) return;
    isDescribed = true;
    await setDiskMetadata(cloud, { diskCid: disk, metadata: after });
  });
  const copy = await updateDisk(
    { ...cloud, api: slow },
    { diskCid: disk, sizeMiB: 64, cloudProperties: other },
  );
  assert.ok(isDescribed);
  await assertDescribed(world, copy ?? '');
});

test('… and set_disk_metadata answers no success for a claim that was replaced, when its cid names nothing any more', async (t) => {
  const world = await describedDisk(t);
  const { cloud, disk } = world;
  await createVm(cloud, createVmRequest());
  const killed = beforeWrite(cloud, { disk, count: 1 }, async () => {
    const dying = { ...cloud, api: crashingApi(cloud.api, 6, 'after') };
    await assert.rejects(
      updateDisk(dying, { diskCid: disk, sizeMiB: 64, cloudProperties: other }),
      (error) => error instanceof Crash,
    );
  });
  const known = atRequest(
    `get persistentvolumeclaims ${disk}`,
    async () => {
      const copy = await updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: other });
      assert.ok(copy !== null);
      // the caller knows the replacement: its previous cid is dropped
      await attachDisk(cloud, { vmCid, diskCid: copy });
    },
    2,
  );
  const describing = { ...cloud, api: interceptingApi(killed.api, known) };
  await assert.rejects(
    setDiskMetadata(describing, { diskCid: disk, metadata: after }),
    rejection('DISK_NOT_FOUND'),
  );
});

test('a disk that resize_disk grows while update_disk copies it is not replaced by a smaller copy', async (t) => {
  const world = await describedDisk(t);
  const { cloud, disk } = world;
  const resizing = beforeWrite(cloud, { disk, count: 2 }, () =>
    resizeDisk(cloud, { diskCid: disk, sizeMiB: 128 }),
  );
  const refused = rejection('NOT_SUPPORTED', /it has 128 MiB, and volumes do not shrink to 64 MiB/u);
  await assert.rejects(updateDisk(resizing, { diskCid: disk, sizeMiB: 64, cloudProperties: other }), refused);
  assert.deepEqual(await diskObjects(world), [disk]);
  const { metadata, status } = await claimOf(world, disk);
  assert.equal(metadata.annotations?.[annotation.replacement], undefined);
  assert.equal(status?.capacity?.['storage'], '128Mi');
  await assert.rejects(updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: other }), refused);
  const copy = await updateDisk(cloud, { diskCid: disk, sizeMiB: 128, cloudProperties: other });
  assert.equal((await claimOf(world, copy ?? '')).status?.capacity?.['storage'], '128Mi');
});

for (const [when, replace] of [
  [
    'and has not deleted yet',
    async (cloud: CallContext, disk: string) => {
      const killed = { ...cloud, api: crashingApi(cloud.api, 5, 'after') };
      await assert.rejects(
        updateDisk(killed, { diskCid: disk, sizeMiB: 64, cloudProperties: other }),
        (error) => error instanceof Crash,
      );
    },
  ],
  [
    'and deletes',
    (cloud: CallContext, disk: string) =>
      updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: other }),
  ],
] as const) {
  test(`resize_disk of a disk that update_disk replaces meanwhile ${when}: the same call again grows the copy`, async (t) => {
    const world = await describedDisk(t);
    const { cloud, disk } = world;
    const replacing = beforeWrite(cloud, { disk, count: 1 }, () => replace(cloud, disk));
    await assert.rejects(
      resizeDisk(replacing, { diskCid: disk, sizeMiB: 128 }),
      rejection('DISK_BUSY', /run the call again/u),
    );
    await resizeDisk(cloud, { diskCid: disk, sizeMiB: 128 });
    const [copy = '', ...more] = await diskObjects(world);
    assert.deepEqual([copy === disk, more], [false, []]);
    assert.equal((await claimOf(world, copy)).status?.capacity?.['storage'], '128Mi');
  });
}
