import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { namespaces, persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import { annotation } from '../objects/labels.ts';
import { boundDisk } from '../testing/bound-disk.ts';
import { Crash, crashingApi } from '../testing/crashing-api.ts';
import { storageCloud } from '../testing/storage-cloud.ts';
import { type HeldCall, holdCall } from '../testing/held-call.ts';
import { atRequest, interceptingApi } from '../testing/intercepting-api.ts';
import { rejection } from '../testing/rejection.ts';
import {
  type TestCloud,
  createVmRequest,
  namespace,
  testCloud,
  vmCidOfTest as hot,
} from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';
import { recordedDiskCids } from '../vm/recorded-pod.ts';
import { attachDisk } from './attach-disk.ts';
import { createDisk } from './create-disk.ts';
import { deleteDisk } from './delete-disk.ts';
import { detachDisk } from './detach-disk.ts';
import { getDisks } from './get-disks.ts';
import { setDiskMetadata } from './set-disk-metadata.ts';
import { updateDisk } from './update-disk.ts';

const otherAgent = '2b3c4d5e-0000-4000-8000-000000000002';
const other = `vm-${otherAgent}`;
const dynamic = { default: { type: 'dynamic' } };

async function twoVms(t: TestContext): Promise<TestCloud & { disk: string }> {
  const made = await testCloud(t, { deadlines: { release: 1, detach_disk: 2, delete_disk: 5 } });
  const { cloud } = made;
  const { kubernetes } = cloud.config;
  await createVm(cloud, createVmRequest());
  await createVm(
    { ...cloud, config: { ...cloud.config, kubernetes: { ...kubernetes, attach: 'recreate' } } },
    createVmRequest({ agentId: otherAgent, networks: dynamic }),
  );
  return { ...made, disk: await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} }) };
}

/**
 * Makes a CPI of `recreate`, and one of `hot` in another namespace whose disks are in the namespace of the
 * first one.
 */
async function twoCpis(t: TestContext): Promise<TestCloud & { beside: TestCloud['cloud'] }> {
  const made = await testCloud(t, {
    kubernetes: { attach: 'recreate' },
    deadlines: { detach_disk: 2, delete_disk: 2 },
  });
  const { cloud, api } = made;
  await api.create(namespaces, { metadata: { name: 'bosh-beside' } });
  const { kubernetes } = cloud.config;
  const beside = {
    ...cloud,
    namespace: 'bosh-beside',
    diskNamespace: namespace,
    config: {
      ...cloud.config,
      kubernetes: { ...kubernetes, attach: 'hot' as const, diskNamespace: namespace },
    },
  };
  return { ...made, beside };
}

const claimOf = ({ api, disk }: TestCloud & { disk: string }): Promise<PersistentVolumeClaim> =>
  api.get({ resource: persistentVolumeClaims, namespace, name: disk });

test('an attach_disk of recreate that meets an attachment in time leaves the disk to the hot VM', async (t) => {
  const world = await twoVms(t);
  const { cloud, disk } = world;
  const slow = holdCall(cloud, `patch persistentvolumeclaims ${disk}`, (held) =>
    attachDisk(held, { vmCid: other, diskCid: disk }),
  );
  await slow.arrived;
  await attachDisk(cloud, { vmCid: hot, diskCid: disk });
  await assert.rejects(slow.release(), rejection('DISK_ATTACHED_ELSEWHERE'));
  assert.deepEqual(await getDisks(cloud, { vmCid: hot }), [disk]);
  assert.notEqual((await claimOf(world)).metadata.annotations?.[annotation.attachedTo], undefined);
});

test('the lock of an attach_disk of recreate that is refused takes the disk from no hot VM', async (t) => {
  const world = await twoVms(t);
  const { cloud, api, disk } = world;
  const attachment = { resource: pods, namespace, name: `attach-${disk}` };
  let again: HeldCall<string> | undefined;
  let before: Pod | undefined;
  const outcomes: unknown[] = [];
  const unlocked = atRequest(`patch persistentvolumeclaims ${disk}`, async () => {
    // hot: success. The same call again has passed its check of the lock, and is paused before it marks the
    // claim
    await attachDisk(cloud, { vmCid: hot, diskCid: disk });
    before = await api.get<Pod>(attachment);
    again = holdCall(cloud, `patch persistentvolumeclaims ${disk}`, (held) =>
      attachDisk(held, { vmCid: hot, diskCid: disk }),
    );
    await again.arrived;
  });
  // the second read of recreate for an attachment pod: it has the lock
  const locked = atRequest(
    `get pods attach-${disk}`,
    async () => {
      outcomes.push(await again?.release().catch((error: unknown) => error));
    },
    2,
  );
  const slow = {
    ...cloud,
    api: interceptingApi(cloud.api, async (request) => {
      await unlocked(request);
      await locked(request);
    }),
  };
  outcomes.push(await attachDisk(slow, { vmCid: other, diskCid: disk }).catch((error: unknown) => error));
  assert.match(String(outcomes.at(-1)), /is attached to VM/u);
  const after = await api.get<Pod>(attachment);
  assert.equal(after.metadata.uid, before?.metadata.uid);
  assert.equal(after.metadata.deletionTimestamp, undefined);
});

test('two CPIs share a disk namespace: the disk of a VM of recreate is not given to a VM of the other', async (t) => {
  const { cloud, api, beside } = await twoCpis(t);
  await createVm(cloud, createVmRequest());
  await createVm(beside, createVmRequest({ agentId: otherAgent, networks: dynamic }));
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  await attachDisk(cloud, { vmCid: hot, diskCid: disk });
  const pod = await api.get<Pod>({ resource: pods, namespace, name: hot });
  assert.deepEqual(recordedDiskCids(pod), [disk]);
  await assert.rejects(
    attachDisk(beside, { vmCid: other, diskCid: disk }),
    rejection('DISK_ATTACHED_ELSEWHERE'),
  );
});

test('two CPIs share a disk namespace: the disk of a VM of recreate is not deleted by the other', async (t) => {
  const { cloud, beside } = await twoCpis(t);
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  await attachDisk(cloud, { vmCid: hot, diskCid: disk });
  await assert.rejects(deleteDisk(beside, { diskCid: disk }), rejection('DISK_BUSY'));
});

test('attach_disk of recreate sees the mount of a hot VM whose attachment was deleted by force meanwhile', async (t) => {
  const world = await twoVms(t);
  const { cloud, api, node, disk } = world;
  const slow = holdCall(cloud, `patch persistentvolumeclaims ${disk}`, (held) =>
    attachDisk(held, { vmCid: other, diskCid: disk }),
  );
  await slow.arrived;
  await attachDisk(cloud, { vmCid: hot, diskCid: disk });
  node.leftMounts.add(disk);
  await api.delete({ resource: pods, namespace, name: `attach-${disk}` }, { gracePeriodSeconds: 0 });
  await assert.rejects(slow.release(), rejection('DISK_ATTACHED_ELSEWHERE'));
});

test('delete_disk asks the hot VM though an attach_disk of recreate was refused since it got the disk', async (t) => {
  const world = await twoVms(t);
  const { cloud, api, node, disk } = world;
  const slow = holdCall(cloud, `patch persistentvolumeclaims ${disk}`, (held) =>
    attachDisk(held, { vmCid: other, diskCid: disk }),
  );
  await slow.arrived;
  await attachDisk(cloud, { vmCid: hot, diskCid: disk });
  await assert.rejects(slow.release(), rejection('DISK_ATTACHED_ELSEWHERE'));
  node.leftMounts.add(disk);
  await api.delete({ resource: pods, namespace, name: `attach-${disk}` }, { gracePeriodSeconds: 0 });
  await assert.rejects(deleteDisk(cloud, { diskCid: disk }), rejection('DISK_BUSY'));
});

test('detach_disk of a disk that update_disk replaced takes out the copy, too', async (t) => {
  const world = await storageCloud(t, { deadlines: { detach_disk: 5, delete_disk: 1, release: 1 } });
  const { cloud, api, node } = world;
  await createVm(cloud, createVmRequest());
  const disk = await boundDisk(world);
  await api.patch(
    { resource: persistentVolumeClaims, namespace, name: disk },
    { metadata: { finalizers: ['kubernetes.io/pvc-protection'] } },
  );
  node.keepsClaims = true;
  const attach = holdCall(
    { ...cloud, api: crashingApi(cloud.api, 1, 'after') },
    `create pods attach-${disk}`,
    (held) => attachDisk(held, { vmCid: hot, diskCid: disk }),
  );
  await attach.arrived;
  const killedAttach = atRequest(`delete persistentvolumeclaims ${disk}`, async () => {
    await assert.rejects(attach.release(), (error) => error instanceof Crash);
  });
  const update = updateDisk(
    { ...cloud, api: interceptingApi(cloud.api, killedAttach) },
    { diskCid: disk, sizeMiB: 64, cloudProperties: { storage_class: 'other' } },
  );
  // the attachment pod blocks the deletion of the disk that is replaced
  await assert.rejects(update, rejection('DEADLINE'));
  await attachDisk(cloud, { vmCid: hot, diskCid: disk });
  assert.equal(await detachDisk(cloud, { vmCid: hot, diskCid: disk }), null);
  assert.deepEqual(await getDisks(cloud, { vmCid: hot }), []);
});

test('a write between two of attach_disk does not hide the VM that has the disk from delete_disk', async (t) => {
  const world = await twoVms(t);
  const { cloud, api, node, disk } = world;
  await attachDisk(cloud, { vmCid: other, diskCid: disk });
  await deleteVm(cloud, { vmCid: other });
  // the first patch writes attached-to, the second removes the name of the deleted VM
  const beside = atRequest(
    `patch persistentvolumeclaims ${disk}`,
    async () => {
      await setDiskMetadata(cloud, { diskCid: disk, metadata: { deployment: 'd' } });
    },
    2,
  );
  await attachDisk({ ...cloud, api: interceptingApi(cloud.api, beside) }, { vmCid: hot, diskCid: disk });
  node.leftMounts.add(disk);
  await api.delete({ resource: pods, namespace, name: `attach-${disk}` }, { gracePeriodSeconds: 0 });
  await assert.rejects(deleteDisk(cloud, { diskCid: disk }), rejection('DISK_BUSY'));
});

test('create_vm with the agent id of a VM that has ended for good arrives at a VM', async (t) => {
  const { cloud, api } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  const pod = { resource: pods, namespace, name: hot };
  await api.patch(
    pod,
    { status: { phase: 'Failed', reason: 'Evicted', containerStatuses: [] } },
    { subresource: 'status' },
  );
  for (let left = 2; left > 0; left -= 1) {
    const outcome = await createVm(cloud, createVmRequest()).catch((error: unknown) => error);
    if (!(outcome instanceof Error)) return;
  }
  assert.fail('no repeated call leads out');
});

test('an attach_disk that update_disk overtakes takes its attachment back', async (t) => {
  const world = await storageCloud(t, { deadlines: { detach_disk: 5, delete_disk: 1, release: 1 } });
  const { cloud, api, node } = world;
  await createVm(cloud, createVmRequest());
  const disk = await boundDisk(world);
  await api.patch(
    { resource: persistentVolumeClaims, namespace, name: disk },
    { metadata: { finalizers: ['kubernetes.io/pvc-protection'] } },
  );
  node.keepsClaims = true;
  const marking = Promise.withResolvers<void>();
  const deleted = Promise.withResolvers<void>();
  const stop = atRequest(`patch persistentvolumeclaims ${disk}`, async () => {
    marking.resolve();
    await deleted.promise;
  });
  const attach = holdCall(
    { ...cloud, api: interceptingApi(api, stop) },
    `create pods attach-${disk}`,
    (held) => attachDisk(held, { vmCid: hot, diskCid: disk }),
  );
  await attach.arrived;
  let outcome: Promise<unknown> | undefined;
  const beside = atRequest(`delete persistentvolumeclaims ${disk}`, async () => {
    outcome = attach.release().catch((error: unknown) => error);
    await marking.promise;
    // its mount container mounts the disk
    const isRunning = async (): Promise<boolean> =>
      (await api.get<Pod>({ resource: pods, namespace, name: `attach-${disk}` })).status
        ?.containerStatuses?.[0]?.state?.running !== undefined;
    while (!(await isRunning())) await cloud.clock.sleep(5);
  });
  const watched = { ...cloud, api: interceptingApi(api, beside) };
  await assert.rejects(
    updateDisk(watched, { diskCid: disk, sizeMiB: 64, cloudProperties: { storage_class: 'other' } }),
    rejection('DEADLINE'),
  );
  deleted.resolve();
  await outcome;
  assert.deepEqual(await getDisks(cloud, { vmCid: hot }), []);
});

test('a slow detach_disk asks no mount container of another VM to release the disk', async (t) => {
  const { cloud, node } = await testCloud(t, { deadlines: { release: 1, detach_disk: 2 } });
  await createVm(cloud, createVmRequest());
  await createVm(cloud, createVmRequest({ agentId: otherAgent, networks: dynamic }));
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  await attachDisk(cloud, { vmCid: hot, diskCid: disk });
  let isFirst = true;
  const exec: typeof cloud.exec = async (command) => {
    if (isFirst && command.command[3] === 'release') {
      isFirst = false;
      await detachDisk(cloud, { vmCid: hot, diskCid: disk });
      await attachDisk(cloud, { vmCid: other, diskCid: disk });
    }
    return cloud.exec(command);
  };
  const outcome = await detachDisk({ ...cloud, exec }, { vmCid: hot, diskCid: disk }).catch(
    (error: unknown) => error,
  );
  assert.equal(outcome, null);
  assert.deepEqual(await getDisks(cloud, { vmCid: other }), [disk]);
  assert.equal(
    node.releasedDisks.has(disk),
    false,
    'the mount container of the second VM was asked to let go',
  );
});
