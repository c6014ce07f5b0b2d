import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { persistentVolumeClaims, volumeSnapshots } from '../../../kubernetes/resources.ts';
import type { VolumeSnapshot } from '../../../kubernetes/types/storage.ts';
import type { CallContext } from '../../call.ts';
import { annotation, label } from '../../objects/labels.ts';
import { boundDisk, claimOf, diskObjects } from '../../testing/bound-disk.ts';
import { Crash, crashingApi } from '../../testing/crashing-api.ts';
import { atRequest, interceptingApi, type Intercept } from '../../testing/intercepting-api.ts';
import { rejection } from '../../testing/rejection.ts';
import { storageCloud, type StorageCloud } from '../../testing/storage-cloud.ts';
import { createVmRequest, namespace, vmCidOfTest as vmCid } from '../../testing/test-cloud.ts';
import { snapshotDisk } from '../../snapshot/snapshot-disk.ts';
import { createVm } from '../../vm/create-vm.ts';
import { deleteVm } from '../../vm/delete-vm.ts';
import { attachDisk } from '../attach-disk.ts';
import { deleteDisk } from '../delete-disk.ts';
import { detachDisk } from '../detach-disk.ts';
import { getDisks } from '../get-disks.ts';
import { hasDisk } from '../has-disk.ts';
import { resizeDisk } from '../resize-disk.ts';
import { setDiskMetadata } from '../set-disk-metadata.ts';
import { updateDisk } from '../update-disk.ts';

const other = { storage_class: 'other' };

const seen = (cloud: CallContext, intercept: Intercept): CallContext => ({
  ...cloud,
  api: interceptingApi(cloud.api, intercept),
});

interface Replaced extends StorageCloud {
  readonly disk: string;
  readonly copy: string;
}

/**
 * Makes a disk whose claim is marked as replaced, as update_disk leaves it when it is killed after its n-th
 * write.
 */
async function replacedDisk(t: TestContext, killedAfter: number, attach: string): Promise<Replaced> {
  const world = await storageCloud(t, { kubernetes: { attach } });
  await createVm(world.cloud, createVmRequest());
  const disk = await boundDisk(world);
  const killed = { ...world.cloud, api: crashingApi(world.api, killedAfter, 'after') };
  await assert.rejects(
    updateDisk(killed, { diskCid: disk, sizeMiB: 64, cloudProperties: other }),
    (error) => error instanceof Crash,
  );
  const { deletionTimestamp, annotations } = (await claimOf(world, disk)).metadata;
  assert.deepEqual([deletionTimestamp, annotations?.[annotation.replaced]], [undefined, 'true']);
  return { ...world, disk, copy: annotations?.[annotation.replacement] ?? '' };
}

const verbs: readonly [string, (world: Replaced) => Promise<void>][] = [
  [
    'has_disk says that it is there',
    async ({ cloud, disk }) => {
      assert.equal(await hasDisk(cloud, { diskCid: disk }), true);
    },
  ],
  [
    'attach_disk attaches the copy',
    async ({ cloud, disk, copy }) => {
      assert.equal(await attachDisk(cloud, { vmCid, diskCid: disk }), `/warden-cpi-dev/disks/${copy}/store`);
      assert.deepEqual(await getDisks(cloud, { vmCid }), [copy]);
    },
  ],
  [
    'detach_disk finds it on no VM',
    async ({ cloud, disk }) => {
      await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), rejection('DISK_NOT_ATTACHED'));
    },
  ],
  [
    'resize_disk grows the copy',
    async (world) => {
      await resizeDisk(world.cloud, { diskCid: world.disk, sizeMiB: 128 });
      assert.equal((await claimOf(world, world.copy)).status?.capacity?.['storage'], '128Mi');
    },
  ],
  [
    'set_disk_metadata describes the copy',
    async (world) => {
      await setDiskMetadata(world.cloud, { diskCid: world.disk, metadata: { deployment: 'zookeeper' } });
      const { annotations } = (await claimOf(world, world.copy)).metadata;
      assert.match(annotations?.[annotation.metadata] ?? '', /zookeeper/u);
    },
  ],
  [
    'snapshot_disk takes one of the copy',
    async (world) => {
      const name = await snapshotDisk(world.cloud, { diskCid: world.disk, metadata: {} });
      const { spec } = await world.api.get<VolumeSnapshot>({ resource: volumeSnapshots, namespace, name });
      assert.equal(spec.source.persistentVolumeClaimName, world.copy);
    },
  ],
  [
    'update_disk answers the copy',
    async ({ cloud, disk, copy }) => {
      assert.equal(await updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: other }), copy);
    },
  ],
  [
    'create_vm looks for the volume of the copy',
    async ({ cloud, disk }) => {
      const networks = { default: { type: 'dynamic' } };
      await createVm(cloud, { ...createVmRequest({ agentId: 'next', networks }), diskCids: [disk] });
    },
  ],
];

for (const [killedAfter, when] of [
  [5, 'before its copy stands for it'],
  [6, 'before it is deleted'],
] as const) {
  for (const attach of ['hot', 'recreate']) {
    for (const [what, act] of verbs) {
      test(`${attach}: a disk that update_disk replaced, killed ${when}: ${what}`, async (t) => {
        const world = await replacedDisk(t, killedAfter, attach);
        await act(world);
        assert.equal((await claimOf(world, world.copy)).metadata.labels?.[label.provisional], undefined);
        const left = (await diskObjects(world)).filter((name) => name.startsWith('disk-'));
        assert.deepEqual(left, [world.copy]);
      });
    }
    test(`${attach}: a disk that update_disk replaced, killed ${when}: delete_disk leaves nothing`, async (t) => {
      const world = await replacedDisk(t, killedAfter, attach);
      await deleteDisk(world.cloud, { diskCid: world.disk });
      assert.equal(await hasDisk(world.cloud, { diskCid: world.disk }), false);
      assert.deepEqual(
        (await diskObjects(world)).filter((name) => name.startsWith('disk-')),
        [],
      );
    });
  }
}

test('a disk whose copy somebody deletes before it stands for the disk is the disk again', async (t) => {
  const world = await replacedDisk(t, 5, 'hot');
  const { cloud, api, disk, copy } = world;
  await api.delete({ resource: persistentVolumeClaims, namespace, name: copy });
  assert.equal(await attachDisk(cloud, { vmCid, diskCid: disk }), `/warden-cpi-dev/disks/${disk}/store`);
  await detachDisk(cloud, { vmCid, diskCid: disk });
  const next = await updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: other });
  assert.ok(next !== null && next !== copy);
});

test('update_disk whose disk somebody deletes answers no success, and its copy does not stay', async (t) => {
  const world = await storageCloud(t);
  const disk = await boundDisk(world);
  const deleted = atRequest(`patch persistentvolumeclaims ${disk}`, async () => {
    await world.api.delete({ resource: persistentVolumeClaims, namespace, name: disk });
  });
  let count = 0;
  const late: Intercept = async (request) => {
    if (request === `patch persistentvolumeclaims ${disk}`) count += 1;
    if (count === 2) await deleted(request);
  };
  await assert.rejects(
    updateDisk(seen(world.cloud, late), { diskCid: disk, sizeMiB: 64, cloudProperties: other }),
    rejection('DISK_BUSY'),
  );
  assert.deepEqual(await diskObjects(world), []);
  assert.equal(await hasDisk(world.cloud, { diskCid: disk }), false);
});

/**
 * Starts an attach_disk that has read the claim and pauses before it creates its attachment pod. `goOn` lets
 * it do that, and then kills it: it does not see the current state of the claim.
 */
async function waitingAttach(cloud: CallContext, disk: string): Promise<{ goOn: () => Promise<void> }> {
  const [arrived, opened] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  let isMade = false;
  const attaching = attachDisk(
    seen(cloud, async (request) => {
      if (isMade) throw new Error('killed');
      if (request !== `create pods attach-${disk}`) return;
      arrived.resolve(undefined);
      await opened.promise;
      isMade = true;
    }),
    { vmCid, diskCid: disk },
  );
  const killed = assert.rejects(attaching, /killed/u);
  await arrived.promise;
  return {
    goOn: () => {
      opened.resolve(undefined);
      return killed;
    },
  };
}

test('an attach_disk that is killed while update_disk replaces the disk holds nothing up', async (t) => {
  const world = await storageCloud(t);
  const { cloud } = world;
  await createVm(cloud, createVmRequest());
  const disk = await boundDisk(world);
  const attach = await waitingAttach(cloud, disk);
  let isEarly = true;
  const copy = await updateDisk(
    seen(cloud, async (request) => {
      const isOfCopy = request.startsWith('patch persistentvolumeclaims ') && !request.endsWith(disk);
      if (!isOfCopy || !isEarly) return;
      isEarly = false;
      await attach.goOn();
    }),
    { diskCid: disk, sizeMiB: 64, cloudProperties: other },
  );
  assert.equal(isEarly, false);
  assert.deepEqual(await getDisks(cloud, { vmCid }), []);
  assert.equal(
    await attachDisk(cloud, { vmCid, diskCid: disk }),
    `/warden-cpi-dev/disks/${String(copy)}/store`,
  );
});

for (const [name, end] of [
  ['detach_disk', (cloud: CallContext, disk: string) => detachDisk(cloud, { vmCid, diskCid: disk })],
  ['delete_vm', (cloud: CallContext) => deleteVm(cloud, { vmCid })],
] as const) {
  test(`an attachment that a killed attach_disk made of a replaced disk when that was deleted is no loss: ${name} ends it`, async (t) => {
    const world = await storageCloud(t, { deadlines: { delete_disk: 1 } });
    const { cloud, node } = world;
    await createVm(cloud, createVmRequest());
    const disk = await boundDisk(world);
    // the attachment pod uses the claim
    node.keepsClaims = true;
    const attach = await waitingAttach(cloud, disk);
    const meanwhile = atRequest(`delete persistentvolumeclaims ${disk}`, attach.goOn);
    await assert.rejects(
      updateDisk(seen(cloud, meanwhile), { diskCid: disk, sizeMiB: 64, cloudProperties: other }),
      rejection('DEADLINE', /which was copied/u),
    );
    assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
    await end(cloud, disk);
    assert.deepEqual(
      (await diskObjects(world)).filter((one) => one.startsWith('attach-')),
      [],
    );
    const copy = (await claimOf(world, disk)).metadata.annotations?.[annotation.replacement];
    assert.equal(await updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: other }), copy);
  });
}
