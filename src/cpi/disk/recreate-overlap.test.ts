import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { label } from '../objects/labels.ts';
import { atRequest, interceptingApi } from '../testing/intercepting-api.ts';
import { rejection } from '../testing/rejection.ts';
import {
  type TestCloud,
  createVmRequest,
  namespace,
  testCloud,
  vmCidOfTest as one,
} from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { recordedDiskCids } from '../vm/recorded-pod.ts';
import { attachDisk } from './attach-disk.ts';
import { createDisk } from './create-disk.ts';
import { detachDisk } from './detach-disk.ts';
import { getDisks } from './get-disks.ts';

const other = 'vm-other';

interface World extends TestCloud {
  readonly disk: string;
  readonly second: string;
}

/** Makes two VMs of the strategy `recreate`, `one` and `other`, and two disks. */
async function twoVms(t: TestContext): Promise<World> {
  const made = await testCloud(t, { kubernetes: { attach: 'recreate' } });
  const { cloud } = made;
  const networks = { default: { type: 'dynamic' } };
  await createVm(cloud, createVmRequest());
  await createVm(cloud, createVmRequest({ agentId: 'other', networks }));
  return {
    ...made,
    disk: await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} }),
    second: await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} }),
  };
}

/** Returns the context of a call that is paused before a request while others run. */
const held = (
  cloud: CallContext,
  request: string,
  meanwhile: () => Promise<unknown>,
  count = 1,
): CallContext => ({
  ...cloud,
  api: interceptingApi(
    cloud.api,
    atRequest(request, async () => void (await meanwhile()), count),
  ),
});

const podOf = ({ cloud }: World, name = one): Promise<Pod> =>
  cloud.api.get<Pod>({ resource: pods, namespace, name });

async function holderOf({ cloud, disk }: World): Promise<string | undefined> {
  const claim = { resource: persistentVolumeClaims, namespace, name: disk };
  return (await cloud.api.get<PersistentVolumeClaim>(claim)).metadata.labels?.[label.vmId];
}

/** Checks that the disk is on `other`, and that `one` runs without it. */
async function assertOnOther(world: World): Promise<void> {
  const { cloud, disk } = world;
  assert.deepEqual(await getDisks(cloud, { vmCid: one }), []);
  const pod = await podOf(world);
  assert.deepEqual(recordedDiskCids(pod), []);
  assert.equal(pod.spec.schedulingGates, undefined);
  assert.equal(pod.status?.phase, 'Running');
  assert.deepEqual(recordedDiskCids(await podOf(world, other)), [disk]);
  assert.equal(await holderOf(world), other);
}

/** Checks that the disk is on `one`, so that no other VM gets it. */
async function assertOnOne(world: World): Promise<void> {
  const { cloud, disk } = world;
  assert.deepEqual(await getDisks(cloud, { vmCid: one }), [disk]);
  const pod = await podOf(world);
  assert.deepEqual([recordedDiskCids(pod), pod.status?.phase], [[disk], 'Running']);
  await assert.rejects(
    attachDisk(cloud, { vmCid: other, diskCid: disk }),
    rejection('DISK_ATTACHED_ELSEWHERE', new RegExp(one, 'u')),
  );
}

for (const request of ['get pods', 'delete pods', 'create pods', 'patch pods']) {
  test(`attach_disk, held before its ${request} while the disk goes to another VM, makes no pod with it`, async (t) => {
    const world = await twoVms(t);
    const { cloud, disk } = world;
    let wasHeld = false;
    const slow = held(
      cloud,
      `${request} ${one}`,
      async () => {
        wasHeld = true;
        await detachDisk(cloud, { vmCid: one, diskCid: disk });
        await attachDisk(cloud, { vmCid: other, diskCid: disk });
      },
      // attach_disk reads the pod before it records the disk, too
      request === 'get pods' ? 2 : 1,
    );

    await assert.rejects(attachDisk(slow, { vmCid: one, diskCid: disk }), rejection('DISK_NOT_ATTACHABLE'));

    assert.ok(wasHeld);
    await assertOnOther(world);
  });
}

for (const request of ['get pods', 'delete pods', 'create pods', 'patch pods']) {
  test(`attach_disk, held before its ${request} while a second disk comes, does not end the pod with both`, async (t) => {
    const world = await twoVms(t);
    const { cloud, disk, second } = world;
    let uid: string | undefined;
    const slow = held(
      cloud,
      `${request} ${one}`,
      async () => {
        await attachDisk(cloud, { vmCid: one, diskCid: second });
        ({ uid } = (await podOf(world)).metadata);
      },
      request === 'get pods' ? 2 : 1,
    );

    await attachDisk(slow, { vmCid: one, diskCid: disk });

    const pod = await podOf(world);
    assert.notEqual(uid, undefined);
    assert.equal(pod.metadata.uid, uid);
    assert.deepEqual(recordedDiskCids(pod), [disk, second]);
  });
}

test('a slow detach_disk leaves the lock of a disk that the VM has again', async (t) => {
  const world = await twoVms(t);
  const { cloud, disk } = world;
  await attachDisk(cloud, { vmCid: one, diskCid: disk });
  const slow = held(cloud, `patch persistentvolumeclaims ${disk}`, () =>
    attachDisk(cloud, { vmCid: one, diskCid: disk }),
  );

  await assert.rejects(
    detachDisk(slow, { vmCid: one, diskCid: disk }),
    rejection('DISK_BUSY', /attached again/u),
  );

  await assertOnOne(world);
});

test('detach_disk between the lock and the record of an attach_disk does not leave it without its lock', async (t) => {
  const world = await twoVms(t);
  const { cloud, disk } = world;
  const slow = held(cloud, `patch secrets ${one}`, () => detachDisk(cloud, { vmCid: one, diskCid: disk }));

  await attachDisk(slow, { vmCid: one, diskCid: disk });

  await assertOnOne(world);
});

test('an attach_disk that continues after a detach_disk has taken its lock locks the disk again, or fails', async (t) => {
  const world = await twoVms(t);
  const { cloud, disk } = world;
  const slow = held(cloud, `patch secrets ${one}`, async () => {
    await detachDisk(cloud, { vmCid: one, diskCid: disk });
    await attachDisk(cloud, { vmCid: other, diskCid: disk });
  });

  await assert.rejects(attachDisk(slow, { vmCid: one, diskCid: disk }), rejection('DISK_ATTACHED_ELSEWHERE'));

  await assertOnOther(world);
});

test('attach_disk does not succeed with a pod that a slow detach_disk deletes', async (t) => {
  const world = await twoVms(t);
  const { cloud, disk } = world;
  await attachDisk(cloud, { vmCid: one, diskCid: disk });
  const { uid } = (await podOf(world)).metadata;
  const slow = held(cloud, `delete pods ${one}`, () => attachDisk(cloud, { vmCid: one, diskCid: disk }));

  await assert.rejects(
    detachDisk(slow, { vmCid: one, diskCid: disk }),
    rejection('DISK_BUSY', /attached again/u),
  );

  assert.equal((await podOf(world)).metadata.uid, uid);
  await assertOnOne(world);
});

for (const request of ['get pods', 'delete pods', 'create pods', 'patch pods']) {
  test(`an attach_disk that fails before its ${request} does not take the disk from its repetition`, async (t) => {
    const world = await twoVms(t);
    const { cloud, disk } = world;
    const failing = held(
      cloud,
      `${request} ${one}`,
      async () => {
        await attachDisk(cloud, { vmCid: one, diskCid: disk });
        throw new ProductError('DEADLINE', 'slow');
      },
      request === 'get pods' ? 2 : 1,
    );

    await assert.rejects(
      attachDisk(failing, { vmCid: one, diskCid: disk }),
      rejection('DISK_NOT_ATTACHABLE', /slow; .*stays attached.*detach_disk/u),
    );

    await assertOnOne(world);
  });
}

test('a create_vm that has read the disks of a VM before they went to another makes no pod with them', async (t) => {
  const world = await twoVms(t);
  const { cloud, api, disk } = world;
  await attachDisk(cloud, { vmCid: one, diskCid: disk });
  const reference = { resource: pods, namespace, name: one };
  const slow = held(cloud, `create pods ${one}`, async () => {
    await detachDisk(cloud, { vmCid: one, diskCid: disk });
    await attachDisk(cloud, { vmCid: other, diskCid: disk });
    await api.delete(reference, { gracePeriodSeconds: 0 });
  });
  await api.delete(reference, { gracePeriodSeconds: 0 });

  await createVm(slow, createVmRequest());

  await assertOnOther(world);
});

test('detach_disk says that the disk is busy if others change its claim at every try', async (t) => {
  const world = await twoVms(t);
  const { cloud, api, disk } = world;
  await attachDisk(cloud, { vmCid: one, diskCid: disk });
  let count = 0;
  const contended = interceptingApi(cloud.api, async (request) => {
    if (request !== `patch persistentvolumeclaims ${disk}`) return;
    count += 1;
    const reference = { resource: persistentVolumeClaims, namespace, name: disk };
    await api.patch(reference, { metadata: { annotations: { 'example.com/other': `${count}` } } });
  });

  await assert.rejects(
    detachDisk({ ...cloud, api: contended }, { vmCid: one, diskCid: disk }),
    rejection('DISK_BUSY', /other calls keep changing/u),
  );

  assert.ok(count > 1);
});
