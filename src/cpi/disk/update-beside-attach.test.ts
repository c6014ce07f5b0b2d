import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { volumeSnapshots } from '../../kubernetes/resources.ts';
import { annotation } from '../objects/labels.ts';
import type { CallContext } from '../call.ts';
import { boundDisk, claimOf, diskObjects } from '../testing/bound-disk.ts';
import { atRequest, interceptingApi, type Intercept } from '../testing/intercepting-api.ts';
import { rejection } from '../testing/rejection.ts';
import { storageCloud, type StorageCloud } from '../testing/storage-cloud.ts';
import { createVmRequest, vmCidOfTest as vmCid } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { attachDisk } from './attach-disk.ts';
import { getDisks } from './get-disks.ts';
import { updateDisk } from './update-disk.ts';

const busy = rejection('DISK_BUSY');

const seen = (cloud: CallContext, intercept: Intercept): CallContext => ({
  ...cloud,
  api: interceptingApi(cloud.api, intercept),
});

async function vmAndDisk(t: TestContext, attach: string): Promise<StorageCloud & { disk: string }> {
  const world = await storageCloud(t, {
    kubernetes: { attach },
    // no test waits for update_disk; a replacement that can never be bound is not waited for
    deadlines: { update_disk: 1800, snapshot_disk: 2 },
  });
  await createVm(world.cloud, createVmRequest());
  return { ...world, disk: await boundDisk(world, 'now') };
}

const copied = (cloud: CallContext, disk: string): Promise<string | null> =>
  updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: { storage_class: 'other' } });

/**
 * Checks that the VM has the disk that was attached, that the disk is whole, and that no replacement can take
 * its place.
 */
async function assertAttached(world: StorageCloud, disk: string): Promise<void> {
  const { metadata } = await claimOf(world, disk);
  assert.equal(metadata.deletionTimestamp, undefined);
  assert.equal(metadata.annotations?.[annotation.replacement], undefined);
  assert.deepEqual(await getDisks(world.cloud, { vmCid }), [disk]);
  assert.deepEqual(
    (await diskObjects(world)).filter((name) => name.startsWith('disk-')),
    [disk],
  );
}

/**
 * attach_disk reads the claim before the replacement is marked, and writes to it while the replacement is
 * made.
 */
for (const [attach, firstWrite] of [
  ['hot', 'create pods attach-'],
  ['recreate', 'patch persistentvolumeclaims '],
] as const) {
  test(`${attach}: attach_disk that began before update_disk, and writes when the copy is whole: the disk is not deleted`, async (t) => {
    const world = await vmAndDisk(t, attach);
    const { cloud, disk } = world;
    const [attached, whole] = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()];
    let update: Promise<string | null> | undefined;
    let isMade = false;
    const whenWhole: Intercept = async (request) => {
      isMade ||= request.startsWith('create persistentvolumeclaims');
      if (!isMade || request !== `patch persistentvolumeclaims ${disk}`) return;
      whole.resolve(undefined);
      await attached.promise;
    };
    const meanwhile = atRequest(`${firstWrite}${disk}`, async () => {
      update = copied(seen(cloud, whenWhole), disk);
      await Promise.race([whole.promise, update.catch(() => undefined)]);
    });

    await attachDisk(seen(cloud, meanwhile), { vmCid, diskCid: disk }).finally(() =>
      attached.resolve(undefined),
    );

    await assert.rejects(update ?? Promise.resolve(null), busy);
    await assertAttached(world, disk);
  });

  test(`${attach}: attach_disk between update_disk's look and its mark: no copy is made of what is written to`, async (t) => {
    const world = await vmAndDisk(t, attach);
    const { cloud, disk } = world;
    const requests: string[] = [];
    const first = atRequest(`patch persistentvolumeclaims ${disk}`, async () => {
      await attachDisk(cloud, { vmCid, diskCid: disk });
    });
    const update = copied(
      seen(cloud, async (request) => {
        requests.push(request);
        await first(request);
      }),
      disk,
    );

    await assert.rejects(update, busy);

    assert.deepEqual(
      requests.filter((request) => request.startsWith('create ')),
      [],
    );
    await assertAttached(world, disk);
  });
}

for (const request of ['create volumesnapshots copy-', 'create persistentvolumeclaims ']) {
  test(`attach_disk after update_disk's mark, at its '${request}': what update_disk makes after that does not stay`, async (t) => {
    const world = await vmAndDisk(t, 'hot');
    const { cloud, disk } = world;
    let isFirst = true;
    const meanwhile: Intercept = async (now) => {
      if (!isFirst || !now.startsWith(request)) return;
      isFirst = false;
      await attachDisk(cloud, { vmCid, diskCid: disk });
    };

    await assert.rejects(copied(seen(cloud, meanwhile), disk), busy);

    await assertAttached(world, disk);
    assert.deepEqual((await world.api.list(volumeSnapshots)).items, []);
  });
}

for (const [type, killedAt] of [
  ['other', 'create persistentvolumeclaims '],
  ['other', 'delete volumesnapshots '],
  ['later', 'delete volumesnapshots '],
] as const) {
  test(`update_disk to ${type} after one that was killed at '${killedAt}', and attach_disk meanwhile, which takes that back: nothing is left`, async (t) => {
    const world = await vmAndDisk(t, 'hot');
    const { cloud, disk } = world;
    const killed = fromThenOn((request) => request.startsWith(killedAt));
    await assert.rejects(copied(seen(cloud, killed), disk), /killed/u);
    const former = (await claimOf(world, disk)).metadata.annotations?.[annotation.replacement] ?? '';
    const again = seen(
      cloud,
      atRequest(`get persistentvolumeclaims ${former}`, async () => {
        await attachDisk(cloud, { vmCid, diskCid: disk });
      }),
    );

    await assert.rejects(
      updateDisk(again, { diskCid: disk, sizeMiB: 64, cloudProperties: { storage_class: type } }),
      busy,
    );

    await assertAttached(world, disk);
  });
}

/** Everything after that moment fails, too, as in a process that was killed. */
function fromThenOn(isMoment: (request: string) => boolean): Intercept {
  let isDead = false;
  return (request) => {
    isDead ||= isMoment(request);
    return isDead ? Promise.reject(new Error('killed')) : Promise.resolve();
  };
}
