import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { annotation } from '../objects/labels.ts';
import { Crash, crashingApi } from '../testing/crashing-api.ts';
import { brokenImage } from '../testing/fake-node.ts';
import { atRequest, interceptingApi } from '../testing/intercepting-api.ts';
import { type HeldCall, holdCall } from '../testing/held-call.ts';
import { rejection } from '../testing/rejection.ts';
import {
  type TestCloud,
  createVmRequest,
  namespace,
  testCloud,
  vmCidOfTest as vmCid,
} from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';
import { attachDisk } from './attach-disk.ts';
import { createDisk } from './create-disk.ts';
import { deleteDisk } from './delete-disk.ts';
import { detachDisk } from './detach-disk.ts';
import { getDisks } from './get-disks.ts';
import { hasDisk } from './has-disk.ts';

interface World extends TestCloud {
  readonly disk: string;
}

const claim = (name: string) => ({ resource: persistentVolumeClaims, namespace, name });
const attachment = (disk: string) => ({ resource: pods, namespace, name: `attach-${disk}` });
const isKilled = (error: unknown): boolean => error instanceof Crash;

/** `kubectl delete --force`: the mount stays in the VM. */
async function deleteByForce({ api, node, disk }: World): Promise<void> {
  node.leftMounts.add(disk);
  await api.delete(attachment(disk), { gracePeriodSeconds: 0 });
}

/** Makes a VM, and a disk with a volume; the disk's protection keeps its claim while a pod uses it. */
async function vmAndDisk(t: TestContext): Promise<World> {
  const deadlines = { schedule: 2, release: 1, detach_disk: 5, attach_disk: 1, delete_disk: 1 };
  const made = await testCloud(t, { deadlines });
  await createVm(made.cloud, createVmRequest());
  const disk = await createDisk(made.cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await made.api.patch(claim(disk), {
    metadata: { finalizers: ['kubernetes.io/pvc-protection'] },
    spec: { volumeName: 'pv-1' },
  });
  return { ...made, disk };
}

async function isMarked({ api, disk }: World, name: string): Promise<boolean> {
  const { metadata } = await api.get<PersistentVolumeClaim>(claim(disk));
  return metadata.annotations?.[name] !== undefined;
}

test('an attach_disk that is killed while delete_disk deletes the disk: the attachment can be detached', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, node, disk } = world;
  node.keepsClaims = true;
  // a scheduler that writes to the claim would cause a conflict for delete_disk
  node.unschedulable = 'not yet';
  const killedAttach = atRequest(`delete persistentvolumeclaims ${disk}`, async () => {
    const dying = { ...cloud, api: crashingApi(cloud.api, 1, 'after') };
    await assert.rejects(attachDisk(dying, { vmCid, diskCid: disk }), isKilled);
  });
  const meeting = { ...cloud, api: interceptingApi(cloud.api, killedAttach) };
  await assert.rejects(deleteDisk(meeting, { diskCid: disk }), rejection('DEADLINE'));

  await detachDisk(cloud, { vmCid, diskCid: disk });

  assert.deepEqual(await getDisks(cloud, { vmCid }), []);
  await deleteVm(cloud, { vmCid });
});

test('an attach_disk that comes between the look and the deletion of delete_disk: the disk stays, and is not marked', async (t) => {
  for (const request of ['patch', 'delete']) {
    const world = await vmAndDisk(t);
    const { cloud, disk } = world;
    const attach = atRequest(`${request} persistentvolumeclaims ${disk}`, async () => {
      await attachDisk(cloud, { vmCid, diskCid: disk });
    });
    const meeting = { ...cloud, api: interceptingApi(cloud.api, attach) };
    await assert.rejects(deleteDisk(meeting, { diskCid: disk }), rejection('DISK_BUSY'));
    assert.equal(await isMarked(world, annotation.deleting), false);
    assert.equal(await hasDisk(cloud, { diskCid: disk }), true);
  }
});

test('the mark of a killed delete_disk goes with the next attach_disk: what another program deletes then is a loss', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, api, node, disk } = world;
  const dying = { ...cloud, api: crashingApi(cloud.api, 1, 'after') };
  await assert.rejects(deleteDisk(dying, { diskCid: disk }), isKilled);
  assert.equal(await isMarked(world, annotation.deleting), true);

  await attachDisk(cloud, { vmCid, diskCid: disk });

  assert.equal(await isMarked(world, annotation.deleting), false);
  node.keepsClaims = true;
  await api.delete(claim(disk));
  await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), rejection('DISK_WOULD_BE_LOST'));
});

test('a deletion while detach_disk releases the disk is seen before its attachment ends', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, api, node, disk } = world;
  await attachDisk(cloud, { vmCid, diskCid: disk });
  node.keepsClaims = true;
  const exec: CallContext['exec'] = async (command) => {
    if (command.command[3] === 'release') await api.delete(claim(disk));
    return cloud.exec(command);
  };
  await assert.rejects(
    detachDisk({ ...cloud, exec }, { vmCid, diskCid: disk }),
    rejection('DISK_WOULD_BE_LOST'),
  );
  assert.equal((await api.get(attachment(disk))).metadata.deletionTimestamp, undefined);
});

test('an attach_disk that fails does not take the disk from the same call that has answered success', async (t) => {
  const { cloud, api, disk } = await vmAndDisk(t);
  let isAnswered = false;
  const deaf: CallContext['exec'] = async () => {
    if (!isAnswered) await attachDisk(cloud, { vmCid, diskCid: disk });
    isAnswered = true;
    throw new ProductError('DEADLINE', 'no answer');
  };

  await assert.rejects(
    attachDisk({ ...cloud, exec: deaf }, { vmCid, diskCid: disk }),
    rejection(
      'DEADLINE',
      /so its attachment pod stays: the same call again finishes the attach, detach_disk detaches/u,
    ),
  );

  assert.ok(isAnswered);
  assert.equal((await api.get(attachment(disk))).metadata.deletionTimestamp, undefined);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
});

test('an attachment that starts while a failed attach_disk takes it back is judged again', async (t) => {
  const { cloud, api, node, disk } = await vmAndDisk(t);
  node.brokenDisks.set(disk, 'cannot be written');
  const starts = atRequest(`delete pods attach-${disk}`, async () => {
    const { status } = await api.get<Pod>(attachment(disk));
    const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
    const containerStatuses = (status?.containerStatuses ?? []).map((each) => ({ ...each, state }));
    await api.patch(attachment(disk), { status: { containerStatuses } }, { subresource: 'status' });
    await attachDisk(cloud, { vmCid, diskCid: disk });
  });

  await assert.rejects(
    attachDisk({ ...cloud, api: interceptingApi(cloud.api, starts) }, { vmCid, diskCid: disk }),
    rejection('DISK_NOT_ATTACHABLE', /cannot be written.*its attachment pod stays/u),
  );

  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
});

test('an attach_disk that is held before its create asks the VM that got the disk meanwhile, whatever became of its attachment', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, api, disk } = world;
  const networks = { default: { type: 'dynamic' } };
  const [other] = await createVm(cloud, createVmRequest({ agentId: 'other', networks }));
  const slow = holdCall(cloud, `create pods attach-${disk}`, (held) =>
    attachDisk(held, { vmCid: other, diskCid: disk }),
  );
  await slow.arrived;
  await attachDisk(cloud, { vmCid, diskCid: disk });
  await deleteByForce(world);

  await assert.rejects(
    slow.release(),
    rejection('DISK_ATTACHED_ELSEWHERE', new RegExp(`mounted in VM '${vmCid}'`, 'u')),
  );

  await assert.rejects(api.get(attachment(disk)));
  await detachDisk(cloud, { vmCid, diskCid: disk });
});

test('an attach_disk that finds the attachment of a killed one asks the VM that got the disk meanwhile, too', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, api, disk } = world;
  const networks = { default: { type: 'dynamic' } };
  const [other] = await createVm(cloud, createVmRequest({ agentId: 'other', networks }));
  const dying = { ...cloud, api: crashingApi(cloud.api, 1, 'after') };
  const slow = holdCall(dying, `create pods attach-${disk}`, (held) =>
    attachDisk(held, { vmCid: other, diskCid: disk }),
  );
  await slow.arrived;
  await attachDisk(cloud, { vmCid, diskCid: disk });
  await deleteByForce(world);
  await assert.rejects(slow.release(), isKilled);

  await assert.rejects(
    attachDisk(cloud, { vmCid: other, diskCid: disk }),
    rejection('DISK_ATTACHED_ELSEWHERE', new RegExp(`mounted in VM '${vmCid}'`, 'u')),
  );

  await assert.rejects(api.get(attachment(disk)));
  await detachDisk(cloud, { vmCid, diskCid: disk });
});

test('a detach_disk that is held before its deletion takes no attachment from a later attach_disk', async (t) => {
  const { cloud, api, disk } = await vmAndDisk(t);
  await attachDisk(cloud, { vmCid, diskCid: disk });
  const slow = holdCall(cloud, `delete pods attach-${disk}`, (held) =>
    detachDisk(held, { vmCid, diskCid: disk }),
  );
  await slow.arrived;
  await attachDisk(cloud, { vmCid, diskCid: disk });

  assert.equal(await slow.release(), null);

  assert.equal((await api.get(attachment(disk))).metadata.deletionTimestamp, undefined);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
});

test('a detach_disk that is held before it asks for the release takes no disk from a later attach_disk', async (t) => {
  const { cloud, api, node, disk } = await vmAndDisk(t);
  await attachDisk(cloud, { vmCid, diskCid: disk });
  const exec: CallContext['exec'] = async (command) => {
    if (command.command[3] === 'release') await attachDisk(cloud, { vmCid, diskCid: disk });
    return cloud.exec(command);
  };

  await assert.rejects(
    detachDisk({ ...cloud, exec }, { vmCid, diskCid: disk }),
    rejection('DISK_BUSY', /was attached again/u),
  );

  assert.deepEqual([...node.releasedDisks], []);
  assert.equal((await api.get(attachment(disk))).metadata.deletionTimestamp, undefined);
  await detachDisk(cloud, { vmCid, diskCid: disk });
});

test('a detach_disk whose attachment was deleted by force takes over nothing that a later attach_disk has mounted', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, api, node, disk } = world;
  await attachDisk(cloud, { vmCid, diskCid: disk });
  let isFirst = true;
  const exec: CallContext['exec'] = async (command) => {
    if (isFirst && command.command[3] === 'release') {
      isFirst = false;
      await deleteByForce(world);
      await attachDisk(cloud, { vmCid, diskCid: disk });
    }
    return cloud.exec(command);
  };

  await assert.rejects(
    detachDisk({ ...cloud, exec }, { vmCid, diskCid: disk }),
    rejection('DISK_BUSY', /was attached again/u),
  );

  assert.deepEqual([...node.releasedDisks], []);
  assert.equal((await api.get(attachment(disk))).metadata.deletionTimestamp, undefined);
});

test("a detach_disk that takes a mount over does not end another VM's attachment that has the name by then", async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, api, node, disk } = world;
  const networks = { default: { type: 'dynamic' } };
  const [other] = await createVm(cloud, createVmRequest({ agentId: 'other', networks }));
  await attachDisk(cloud, { vmCid, diskCid: disk });
  await deleteByForce(world);
  let wasMarked = false;
  let slow: HeldCall<string> | undefined;
  const meeting = interceptingApi(cloud.api, async (request) => {
    wasMarked ||= request === `patch persistentvolumeclaims ${disk}`;
    if (!wasMarked || slow !== undefined || request !== `get pods attach-${disk}`) return;
    node.leftMounts.delete(disk);
    await detachDisk(cloud, { vmCid, diskCid: disk });
    slow = holdCall(cloud, `patch persistentvolumeclaims ${disk}`, (held) =>
      attachDisk(held, { vmCid: other, diskCid: disk }),
    );
    await slow.arrived;
  });

  await assert.rejects(
    detachDisk({ ...cloud, api: meeting }, { vmCid, diskCid: disk }),
    rejection('DISK_BUSY'),
  );

  assert.equal((await api.get(attachment(disk))).metadata.deletionTimestamp, undefined);
  await slow?.release();
  assert.deepEqual(await getDisks(cloud, { vmCid: other }), [disk]);
});

test('an attachment that is deleted by force while attach_disk has the disk mounted: attach_disk does not succeed', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, disk } = world;
  const exec: CallContext['exec'] = async (command) => {
    const outcome = await cloud.exec(command);
    if (command.command[3] === 'bind') await deleteByForce(world);
    return outcome;
  };

  await assert.rejects(
    attachDisk({ ...cloud, exec }, { vmCid, diskCid: disk }),
    rejection('DISK_NOT_ATTACHABLE', /its attachment pod was deleted during this call/u),
  );
});

test('delete_vm ends the attachment of an attach_disk that was slow', async (t) => {
  const { cloud, api, disk } = await vmAndDisk(t);
  const slow = holdCall(cloud, `create pods attach-${disk}`, (held) =>
    attachDisk(held, { vmCid, diskCid: disk }),
  );
  await slow.arrived;
  let attached: Promise<unknown> | undefined;
  const list = (async (resource, query = {}) => {
    const isGone = await api.get({ resource: pods, namespace, name: vmCid }).then(
      () => false,
      () => true,
    );
    if (isGone && query.labelSelector?.includes(vmCid) === true)
      attached ??= slow.release().catch((error: unknown) => error);
    await attached;
    return api.list(resource, query);
  }) as CallContext['api']['list'];

  await deleteVm({ ...cloud, api: { ...interceptingApi(api, () => Promise.resolve()), list } }, { vmCid });

  assert.ok(attached !== undefined);
  await assert.rejects(api.get(attachment(disk)));
});

test('an attach_disk to a VM that was deleted during this call leaves no attachment that was to take its mount over', async (t) => {
  const world = await vmAndDisk(t);
  const { cloud, api, node, disk } = world;
  await attachDisk(cloud, { vmCid, diskCid: disk });
  await deleteByForce(world);
  const slow = holdCall(cloud, `create pods attach-${disk}`, (held) =>
    attachDisk(held, { vmCid, diskCid: disk }),
  );
  await slow.arrived;
  await deleteVm(cloud, { vmCid });
  node.unschedulable = 'no such node';

  await assert.rejects(slow.release(), rejection('UNSCHEDULABLE'));

  await assert.rejects(api.get(attachment(disk)));
});

test('an attachment that cannot work is taken back each time, and does not count as in the VM then', async (t) => {
  const { cloud, api } = await testCloud(t, { deadlines: { attach_disk: 2, delete_vm: 5 } });
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  const exec: CallContext['exec'] = (command) =>
    command.pod === vmCid
      ? Promise.reject(new ProductError('DEADLINE', 'not to be asked'))
      : cloud.exec(command);
  const create = (async (resource, object) => {
    const { spec } = object as unknown as Pod;
    const [container] = spec.containers;
    const containers = [{ ...container, image: brokenImage }];
    return cloud.api.create(resource, { ...object, spec: { ...spec, containers } });
  }) as CallContext['api']['create'];
  const missing = { ...interceptingApi(cloud.api, () => Promise.resolve()), create };
  for (let left = 2; left > 0; left -= 1) {
    await assert.rejects(attachDisk({ ...cloud, api: missing }, { vmCid, diskCid: disk }), /no such image/u);
    await assert.rejects(api.get(attachment(disk)));
  }
  await deleteDisk({ ...cloud, exec }, { diskCid: disk });
});
