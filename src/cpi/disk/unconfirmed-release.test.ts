import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { nodes, pods } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { Crash, crashingApi } from '../testing/crashing-api.ts';
import { nodeName } from '../testing/fake-node.ts';
import { atRequest, interceptingApi } from '../testing/intercepting-api.ts';
import { rejection } from '../testing/rejection.ts';
import {
  type TestCloud,
  createVmRequest,
  namespace,
  testCloud,
  vmCidOfTest as vmCid,
} from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { attachDisk } from './attach-disk.ts';
import { createDisk } from './create-disk.ts';
import { deleteDisk } from './delete-disk.ts';
import { detachDisk } from './detach-disk.ts';
import { getDisks } from './get-disks.ts';
import { hasDisk } from './has-disk.ts';

interface World extends TestCloud {
  readonly disk: string;
}

const reference = (name: string) => ({ resource: pods, namespace, name });

/** Makes a VM with a disk. */
async function attached(t: TestContext): Promise<World> {
  const made = await testCloud(t, { deadlines: { schedule: 2, release: 1, detach_disk: 5, attach_disk: 5 } });
  await createVm(made.cloud, createVmRequest());
  const disk = await createDisk(made.cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(made.cloud, { vmCid, diskCid: disk });
  return { ...made, disk };
}

/** `kubectl delete --force`: the mount stays in the VM. */
async function deleteByForce({ api, node, disk }: World): Promise<void> {
  node.leftMounts.add(disk);
  await api.delete(reference(`attach-${disk}`), { gracePeriodSeconds: 0 });
}

const noContainer = new ApiError({
  ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 404 },
  message: 'container not found',
});

/** Makes the VM's container wait for its restart, so that it cannot be checked. */
async function crashVm({ api, cloud }: World): Promise<CallContext> {
  const vm = reference(vmCid);
  const { status } = await api.get<Pod>(vm);
  const containerStatuses = (status?.containerStatuses ?? []).map((container) => ({
    ...container,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
  }));
  await api.patch(vm, { status: { containerStatuses } }, { subresource: 'status' });
  const exec: CallContext['exec'] = (command) =>
    command.pod === vmCid ? Promise.reject(noContainer) : cloud.exec(command);
  return { ...cloud, exec };
}

test('an attachment that is deleted by force before it is asked: a disk in use is not detached', async (t) => {
  const world = await attached(t);
  const { cloud, node, disk } = world;
  node.busyDisks.add(disk);
  let isDeleted = false;
  const exec: CallContext['exec'] = async (command) => {
    if (command.command[3] === 'release' && !isDeleted) {
      isDeleted = true;
      await deleteByForce(world);
    }
    return cloud.exec(command);
  };

  await assert.rejects(
    detachDisk({ ...cloud, exec }, { vmCid, diskCid: disk }),
    rejection('DISK_BUSY', /process 7 has it mounted/u),
  );

  assert.ok(isDeleted);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
  await node.release(disk);
  await detachDisk(cloud, { vmCid, diskCid: disk });
  assert.deepEqual(await getDisks(cloud, { vmCid }), []);
  await deleteDisk(cloud, { diskCid: disk });
});

test('an attachment that is on its way out and is killed: a disk in use is neither detached nor deleted', async (t) => {
  const world = await attached(t);
  const { cloud, api, node, disk } = world;
  node.busyDisks.add(disk);
  await api.delete(reference(`attach-${disk}`));
  const killing = (): CallContext => ({
    ...cloud,
    api: interceptingApi(
      cloud.api,
      atRequest(`get persistentvolumeclaims ${disk}`, async () => {
        // as soon as the call waits for the pod's end
        setTimeout(() => void deleteByForce(world), 50);
        return Promise.resolve();
      }),
    ),
  });

  await assert.rejects(
    deleteDisk(killing(), { diskCid: disk }),
    rejection('DISK_BUSY', /may still be mounted in VM/u),
  );

  assert.equal(await hasDisk(cloud, { diskCid: disk }), true);
  await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), rejection('DISK_BUSY', /process 7/u));
  await api.delete(reference(`attach-${disk}`));
  await assert.rejects(detachDisk(killing(), { vmCid, diskCid: disk }), rejection('DISK_BUSY', /process 7/u));
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
});

test("while the VM's container waits for its restart, a disk without an attachment comes back: detach_disk takes it out", async (t) => {
  const world = await attached(t);
  const { api, node, disk } = world;
  await deleteByForce(world);
  const crashed = await crashVm(world);
  await assert.rejects(
    deleteDisk(crashed, { diskCid: disk }),
    rejection('DISK_BUSY', /may still be mounted in VM/u),
  );

  await detachDisk(crashed, { vmCid, diskCid: disk });

  assert.deepEqual([...node.releasedDisks], [disk]);
  await assert.rejects(api.get(reference(`attach-${disk}`)));
  await deleteDisk(crashed, { diskCid: disk });
});

test('… and an attach_disk that was killed before its attachment ran does not hide it', async (t) => {
  const world = await attached(t);
  const { cloud, api, node, disk } = world;
  await deleteByForce(world);
  node.unschedulable = 'no room';
  const failing = interceptingApi(cloud.api, (request) =>
    request.startsWith('patch persistentvolumeclaims')
      ? Promise.reject(new Error('killed'))
      : Promise.resolve(),
  );
  await assert.rejects(attachDisk({ ...cloud, api: failing }, { vmCid, diskCid: disk }), /killed/u);
  const { metadata } = await api.get<Pod>(reference(`attach-${disk}`));
  assert.equal(metadata.deletionTimestamp, undefined);
  const exec: CallContext['exec'] = (command) =>
    command.pod === vmCid ? cloud.exec(command) : Promise.reject(noContainer);

  await assert.rejects(detachDisk({ ...cloud, exec }, { vmCid, diskCid: disk }), rejection('DISK_BUSY'));
});

test('… but a disk that was never on that VM is not attached to it', async (t) => {
  const world = await attached(t);
  const { cloud, api } = world;
  const other = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  const crashed = await crashVm(world);

  await assert.rejects(detachDisk(crashed, { vmCid, diskCid: other }), rejection('DISK_NOT_ATTACHED'));

  await assert.rejects(api.get(reference(`attach-${other}`)));
  await deleteDisk(crashed, { diskCid: other });
});

for (const attach of ['hot', 'recreate']) {
  test(`… and no VM of the strategy ${attach} can have it before`, async (t) => {
    const world = await attached(t);
    const { cloud, node, disk } = world;
    const networks = { default: { type: 'dynamic' } };
    const kubernetes = { ...cloud.config.kubernetes, attach: attach as 'hot' | 'recreate' };
    const other = { ...cloud, config: { ...cloud.config, kubernetes } };
    const [next] = await createVm(other, createVmRequest({ agentId: 'other', networks }));
    await deleteByForce(world);
    await assert.rejects(
      attachDisk(cloud, { vmCid: next, diskCid: disk }),
      rejection('DISK_ATTACHED_ELSEWHERE', new RegExp(`mounted in VM '${vmCid}'.*detach it there`, 'u')),
    );
    await detachDisk(cloud, { vmCid, diskCid: disk });
    node.leftMounts.delete(disk);
    await attachDisk(cloud, { vmCid: next, diskCid: disk });
    assert.deepEqual(await getDisks(cloud, { vmCid: next }), [disk]);
  });
}

test('an attachment that never ran, and starts while it is deleted, is asked to release the disk', async (t) => {
  const { cloud, api, node } = await testCloud(t, { deadlines: { schedule: 2, release: 1, detach_disk: 5 } });
  await createVm(cloud, createVmRequest());
  await api.create(nodes, { metadata: { name: nodeName } });
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  node.brokenDisks.set(disk, 'cannot be written');
  const dying = { ...cloud, api: crashingApi(cloud.api, 1, 'after') };
  await assert.rejects(attachDisk(dying, { vmCid, diskCid: disk }), (error) => error instanceof Crash);
  let isStarted = false;
  const starts = atRequest(`delete pods attach-${disk}`, async () => {
    const { status } = await api.get<Pod>(reference(`attach-${disk}`));
    const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
    const containerStatuses = (status?.containerStatuses ?? []).map((each) => ({ ...each, state }));
    await api.patch(
      reference(`attach-${disk}`),
      { status: { containerStatuses } },
      { subresource: 'status' },
    );
    isStarted = true;
  });
  const exec: CallContext['exec'] = (command) =>
    isStarted ? cloud.exec(command) : Promise.reject(noContainer);

  await detachDisk({ ...cloud, exec, api: interceptingApi(cloud.api, starts) }, { vmCid, diskCid: disk });

  assert.deepEqual([...node.releasedDisks], [disk]);
  assert.deepEqual(await getDisks(cloud, { vmCid }), []);
});

test('an attachment that is deleted by force as soon as it has taken the mount over: the disk is not detached', async (t) => {
  const world = await attached(t);
  const { cloud, disk } = world;
  await deleteByForce(world);
  const deleting = interceptingApi(
    cloud.api,
    // the first three reads find no pod, no pod, and the new pod at its start; the next one finds it after it
    // has adopted the mount
    atRequest(`get pods attach-${disk}`, () => deleteByForce(world), 3),
  );
  await assert.rejects(
    detachDisk({ ...cloud, api: deleting }, { vmCid, diskCid: disk }),
    rejection('DISK_BUSY', /other calls keep changing/u),
  );
  await detachDisk(cloud, { vmCid, diskCid: disk });
});

test("a container that starts between two looks at the VM: the disk counts as the VM's", async (t) => {
  const world = await attached(t);
  const { api, node, disk } = world;
  await deleteByForce(world);
  const { status } = await api.get<Pod>(reference(vmCid));
  const crashed = await crashVm(world);
  const starting = interceptingApi(
    crashed.api,
    atRequest(
      `get pods ${vmCid}`,
      async () => {
        await api.patch(reference(vmCid), { status }, { subresource: 'status' });
      },
      3,
    ),
  );

  await detachDisk({ ...crashed, api: starting }, { vmCid, diskCid: disk });

  assert.deepEqual([...node.releasedDisks], [disk]);
});

test('what takes a mount over for detach_disk mounts nothing, so that it undoes no other detach_disk', async (t) => {
  const world = await attached(t);
  const { cloud, disk } = world;
  await deleteByForce(world);
  const scripts: unknown[] = [];
  const exec: CallContext['exec'] = (command) => {
    scripts.push(command.command[3]);
    return cloud.exec(command);
  };

  await detachDisk({ ...cloud, exec }, { vmCid, diskCid: disk });

  assert.deepEqual(scripts, ['is-mounted', 'release']);
});

test('a VM on its way out that has the disk mounted without an attachment: it is not detached', async (t) => {
  const world = await attached(t);
  const { cloud, api, node, disk } = world;
  await deleteByForce(world);
  node.stoppingVms.add(vmCid);
  await api.delete(reference(vmCid));

  await assert.rejects(
    detachDisk(cloud, { vmCid, diskCid: disk }),
    rejection('DISK_BUSY', /; delete the VM, /u),
  );
});
