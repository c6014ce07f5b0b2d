import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { CallContext } from '../../call.ts';
import { annotation } from '../../objects/labels.ts';
import { boundDisk, claimOf, diskObjects } from '../../testing/bound-disk.ts';
import { atRequest, interceptingApi, type Intercept } from '../../testing/intercepting-api.ts';
import { rejection } from '../../testing/rejection.ts';
import { storageCloud, type StorageCloud } from '../../testing/storage-cloud.ts';
import { createVmRequest, vmCidOfTest as vmCid } from '../../testing/test-cloud.ts';
import { createVm } from '../../vm/create-vm.ts';
import { attachDisk } from '../attach-disk.ts';
import { deleteDisk } from '../delete-disk.ts';
import { detachDisk } from '../detach-disk.ts';
import { hasDisk } from '../has-disk.ts';
import { updateDisk } from '../update-disk.ts';

/**
 * A replacement that no disk names may be older than the disk's content. It must never be taken for the disk.
 */

const busy = rejection('DISK_BUSY');
const other = { storage_class: 'other' };

const seen = (cloud: CallContext, intercept: Intercept): CallContext => ({
  ...cloud,
  api: interceptingApi(cloud.api, intercept),
});

async function vmAndDisk(t: TestContext): Promise<StorageCloud & { disk: string }> {
  const world = await storageCloud(t);
  await createVm(world.cloud, createVmRequest());
  return { ...world, disk: await boundDisk(world) };
}

/** `reached` resolves when `pass` is called; the call of `pass` returns when the test calls `release`. */
function gate(): { reached: Promise<void>; release: () => void; pass: () => Promise<void> } {
  const [arrived, opened] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  return {
    reached: arrived.promise,
    release: () => {
      opened.resolve(undefined);
    },
    pass: async () => {
      arrived.resolve(undefined);
      await opened.promise;
    },
  };
}

const copiesOf = async (world: StorageCloud, disk: string): Promise<string[]> =>
  (await diskObjects(world)).filter((name) => name.startsWith('disk-') && name !== disk);

test('a copy that update_disk makes after attach_disk looked for it, and before attach_disk takes the mark away, does not stay', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, disk } = world;
  const [attach, update] = [gate(), gate()];
  let patches = 0;
  const updating = updateDisk(
    seen(cloud, async (request) => {
      if (request.startsWith('create persistentvolumeclaims')) await update.pass();
      // the mark, and then the write that removes it
      if (request === `patch persistentvolumeclaims ${disk}`) patches += 1;
      if (request === `patch persistentvolumeclaims ${disk}` && patches === 2) {
        attach.release();
        await attaching;
      }
    }),
    { diskCid: disk, sizeMiB: 64, cloudProperties: other },
  );
  await update.reached;
  const attaching = attachDisk(
    seen(cloud, async (request) => {
      if (request.startsWith('get volumesnapshots copy-')) await attach.pass();
    }),
    { vmCid, diskCid: disk },
  );
  await attach.reached;
  update.release();

  await assert.rejects(updating, busy);
  await attaching;

  assert.deepEqual(await copiesOf(world, disk), []);
  await detachDisk(cloud, { vmCid, diskCid: disk });
  await deleteDisk(cloud, { diskCid: disk });
  assert.equal(await hasDisk(cloud, { diskCid: disk }), false);
});

/**
 * Kills an update_disk when its replacement is bound. An attach_disk that discards the replacement does not
 * see it, because it checked before. Returns the name of the replacement, which nothing removes.
 */
async function leaveCopy(world: StorageCloud, disk: string): Promise<string> {
  const { cloud } = world;
  const attach = gate();
  let attaching: Promise<string> | undefined;
  let isMade = false;
  const killed = seen(cloud, async (request) => {
    if (isMade) throw new Error('killed');
    if (!request.startsWith('create persistentvolumeclaims')) return;
    isMade = true;
    const hasLooked = (now: string): boolean => now.startsWith('get volumesnapshots copy-');
    attaching = attachDisk(
      seen(cloud, (now) => (hasLooked(now) ? attach.pass() : Promise.resolve())),
      { vmCid, diskCid: disk },
    );
    await attach.reached;
  });
  await assert.rejects(updateDisk(killed, { diskCid: disk, sizeMiB: 64, cloudProperties: other }), /killed/u);
  const [copy = ''] = await copiesOf(world, disk);
  while ((await claimOf(world, copy)).status?.phase !== 'Bound') await cloud.clock.sleep(5);
  attach.release();
  await attaching;
  await detachDisk(cloud, { vmCid, diskCid: disk });
  // the server reports creation times in whole seconds
  const createdAt = Date.parse((await claimOf(world, copy)).metadata.creationTimestamp ?? '');
  while (Date.now() < createdAt + 1000) await cloud.clock.sleep(5);
  return copy;
}

test('a copy that a killed update_disk left does not bring a deleted disk back', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, disk } = world;
  const copy = await leaveCopy(world, disk);
  await deleteDisk(cloud, { diskCid: disk });
  assert.equal(await hasDisk(cloud, { diskCid: disk }), false);
  assert.equal(await hasDisk(cloud, { diskCid: copy }), false);
  await assert.rejects(attachDisk(cloud, { vmCid, diskCid: disk }), rejection('DISK_NOT_FOUND'));
  await assert.rejects(attachDisk(cloud, { vmCid, diskCid: copy }), rejection('DISK_NOT_FOUND'));
  assert.deepEqual(await copiesOf(world, disk), []);
});

test('a snapshot that a slow update_disk takes after its copy was discarded is deleted with the disk', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, disk } = world;
  let isDead = false;
  const slow = seen(cloud, async (request) => {
    if (isDead) throw new Error('killed');
    if (!request.startsWith('create volumesnapshots ')) return;
    await attachDisk(cloud, { vmCid, diskCid: disk });
    await detachDisk(cloud, { vmCid, diskCid: disk });
    isDead = true;
  });
  await assert.rejects(updateDisk(slow, { diskCid: disk, sizeMiB: 64, cloudProperties: other }), /killed/u);
  const snapshots = async (): Promise<string[]> =>
    (await diskObjects(world)).filter((name) => name.startsWith('copy-'));
  assert.equal((await snapshots()).length, 1);
  await deleteDisk(cloud, { diskCid: disk });
  while ((await snapshots()).length > 0) await cloud.clock.sleep(5);
});

test('a copy that a killed update_disk left is not the answer of the next: what was written since is not in it', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, disk } = world;
  const left = await leaveCopy(world, disk);
  const copy = await updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: other });
  assert.ok(copy !== null && copy !== left);
  // as after a kill before the response
  assert.equal(await updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: other }), copy);
  assert.equal(await attachDisk(cloud, { vmCid, diskCid: disk }), `/warden-cpi-dev/disks/${copy}/store`);
});

test('update_disk that finds the disk replaced by the copy of another call answers no success', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, disk } = world;
  let copy: string | null = null;
  // its last read of the disk
  const slow = seen(
    cloud,
    atRequest(
      `get persistentvolumeclaims ${disk}`,
      async () => {
        copy = await updateDisk(cloud, { diskCid: disk, sizeMiB: 128, cloudProperties: other });
      },
      3,
    ),
  );
  await assert.rejects(updateDisk(slow, { diskCid: disk, sizeMiB: 64, cloudProperties: other }), busy);
  assert.ok(copy !== null);
  assert.deepEqual(await copiesOf(world, disk), [copy]);
  assert.equal(await updateDisk(cloud, { diskCid: disk, sizeMiB: 128, cloudProperties: other }), copy);
});

test('two update_disk calls for the same type make one copy, and both answer it', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, disk } = world;
  for (const count of [2, 3]) {
    const type = { storage_class: count === 2 ? 'other' : 'now' };
    const from = count === 2 ? disk : ((await copiesOf(world, disk))[0] ?? '');
    let copy: string | null = null;
    const slow = seen(
      cloud,
      atRequest(
        `get persistentvolumeclaims ${from}`,
        async () => {
          copy = await updateDisk(cloud, { diskCid: from, sizeMiB: 64, cloudProperties: type });
        },
        count,
      ),
    );
    assert.equal(await updateDisk(slow, { diskCid: from, sizeMiB: 64, cloudProperties: type }), copy);
    assert.ok(copy !== null);
    assert.deepEqual(await copiesOf(world, disk), [copy]);
  }
});

test("attach_disk that drops a copy takes away that copy's mark, and not the mark of another call's copy", async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, disk } = world;
  let isDead = false;
  const killed = seen(cloud, (request) => {
    isDead ||= request.startsWith('delete volumesnapshots ');
    return isDead ? Promise.reject(new Error('killed')) : Promise.resolve();
  });
  await assert.rejects(updateDisk(killed, { diskCid: disk, sizeMiB: 64, cloudProperties: other }), /killed/u);
  // the snapshot's controller has nothing more to write to the claim
  while (
    (await claimOf(world, disk)).metadata.finalizers?.some((name) => name.startsWith('snapshot.')) === true
  )
    await cloud.clock.sleep(5);
  const update = gate();
  let updating: Promise<string | null> | undefined;
  let marks: (string | undefined)[] = [];
  const mark = async (): Promise<string | undefined> =>
    (await claimOf(world, disk)).metadata.annotations?.[annotation.replacement];
  const unmarking = atRequest(
    `patch persistentvolumeclaims ${disk}`,
    async () => {
      updating = updateDisk(seen(cloud, atRequest(`get persistentvolumeclaims ${disk}`, update.pass, 4)), {
        diskCid: disk,
        sizeMiB: 64,
        cloudProperties: other,
      });
      await Promise.race([update.reached, updating]);
      marks = [await mark()];
    },
    2,
  );
  const attach = seen(cloud, async (request) => {
    await unmarking(request);
    if (marks.length === 1 && request === `get pods attach-${disk}`) marks.push(await mark());
  });

  await attachDisk(attach, { vmCid, diskCid: disk });
  update.release();

  await assert.rejects(updating ?? Promise.resolve(null), busy);
  assert.notEqual(marks[0], undefined);
  assert.equal(marks[1], marks[0]);
  assert.deepEqual(await copiesOf(world, disk), []);
});
