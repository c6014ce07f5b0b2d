import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../kubernetes/types/pod.ts';
import type { Node } from '../../kubernetes/types/node.ts';
import { nodes, pods } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { nodeName } from '../testing/fake-node.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { quickLooks } from '../testing/quick-looks.ts';
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

/**
 * How a kubelet ends a pod for good, and the container statuses that it reports then (kubernetes:
 * pkg/kubelet).
 */
const ends: Readonly<Record<string, (statuses: readonly ContainerStatus[]) => PodStatus>> = {
  // eviction_manager.go: the containers are killed, and their statuses reported
  'evicted for lack of room': (statuses) => ({
    ...{ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    containerStatuses: statuses.map((status) => ({
      ...status,
      state: { terminated: { exitCode: 137, reason: 'Error' } },
    })),
  }),
  // kubelet.go rejectPod, after a restart of the kubelet: no container statuses
  'refused after its restart': () => ({
    ...{ phase: 'Failed', reason: 'OutOfcpu', message: "Node didn't have enough resource: cpu" },
    containerStatuses: [],
  }),
};

const ready = { type: 'Ready', status: 'True' } as const;

interface Ended extends TestCloud {
  readonly disk: string;
  readonly uid: string | undefined;
}

/** Makes a VM with a disk whose attachment pod its kubelet has ended. */
async function endedAttachment(t: TestContext, how: string): Promise<Ended> {
  const made = await testCloud(t, { deadlines: { schedule: 2, release: 1, detach_disk: 2 } });
  const { cloud, api } = made;
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  const reference = { resource: pods, namespace, name: `attach-${disk}` };
  const { metadata, status } = await api.get<Pod>(reference);
  await api.patch(
    reference,
    { status: ends[how]?.(status?.containerStatuses ?? []) },
    { subresource: 'status' },
  );
  return { ...made, disk, uid: metadata.uid };
}

/** Creates the node. A node that does not exist counts as out of service. */
const nodeIsReady = (cloud: CallContext): Promise<Node> =>
  cloud.api.create<Node>(nodes, { metadata: { name: nodeName }, status: { conditions: [ready] } });

const attachmentOf = (api: TestCloud['api'], disk: string): Promise<Pod> =>
  api.get<Pod>({ resource: pods, namespace, name: `attach-${disk}` });

for (const how of Object.keys(ends)) {
  test(`an attachment that its kubelet ${how}: detach_disk asks the VM, and does not take a disk that is in use`, async (t) => {
    const { cloud, api, node, disk, uid } = await endedAttachment(t, how);
    node.leftMounts.add(disk);
    node.busyDisks.add(disk);

    await assert.rejects(
      detachDisk(cloud, { vmCid, diskCid: disk }),
      rejection('DISK_BUSY', /process 7 has it mounted at/u),
    );

    const now = await attachmentOf(api, disk);
    assert.notEqual(now.metadata.uid, uid, 'nothing runs in the attachment');
    assert.equal(now.metadata.deletionTimestamp, undefined);
    assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
    await node.release(disk);
    await detachDisk(cloud, { vmCid, diskCid: disk });
    assert.deepEqual(await getDisks(cloud, { vmCid }), []);
  });

  test(`… ${how}: what the VM has not mounted any more is detached at once`, async (t) => {
    const { cloud, disk } = await endedAttachment(t, how);

    await detachDisk(cloud, { vmCid, diskCid: disk });

    assert.equal(await detachDisk(cloud, { vmCid, diskCid: disk }), null);
    await deleteDisk(cloud, { diskCid: disk });
  });

  test(`… ${how}: attach_disk makes another, which takes the mount over`, async (t) => {
    const { cloud, api, node, disk, uid } = await endedAttachment(t, how);
    node.leftMounts.add(disk);

    await attachDisk(cloud, { vmCid, diskCid: disk });

    const { metadata, status } = await attachmentOf(api, disk);
    assert.notEqual(metadata.uid, uid);
    assert.equal(status?.phase, 'Running');
  });

  test(`… ${how}: it is still that VM's disk for all others, and its end is that of the VM`, async (t) => {
    const { cloud, api, disk } = await endedAttachment(t, how);
    await assert.rejects(deleteDisk(cloud, { diskCid: disk }), rejection('DISK_BUSY'));

    await deleteVm(cloud, { vmCid });

    await assert.rejects(attachmentOf(api, disk));
    await deleteDisk(cloud, { diskCid: disk });
  });
}

test('an attachment that its kubelet has ended, its VM deleted by a human: the disk waits for delete_vm', async (t) => {
  const { cloud, api, node, disk } = await endedAttachment(t, 'evicted for lack of room');
  node.leftMounts.add(disk);
  await api.delete({ resource: pods, namespace, name: vmCid });

  await assert.rejects(
    detachDisk(cloud, { vmCid, diskCid: disk }),
    rejection('DISK_BUSY', /; delete the VM, /u),
  );

  assert.ok(await attachmentOf(api, disk));
});

test("… and whoever meets that VM does not take its word away: the disk is nobody else's before delete_vm", async (t) => {
  const { cloud, api, node, disk } = await endedAttachment(t, 'evicted for lack of room');
  const networks = { default: { type: 'dynamic' } };
  const [other] = await createVm(cloud, createVmRequest({ agentId: 'other', networks }));
  node.leftMounts.add(disk);
  node.stoppingVms.add(vmCid);
  await api.delete({ resource: pods, namespace, name: vmCid });

  await getDisks(cloud, { vmCid });

  await assert.rejects(
    attachDisk(cloud, { vmCid: other, diskCid: disk }),
    rejection('DISK_ATTACHED_ELSEWHERE'),
  );
  await assert.rejects(deleteDisk(cloud, { diskCid: disk }), rejection('DISK_BUSY'));
});

test('an attachment that is ended while it is asked is no witness for a free disk', async (t) => {
  const { cloud, node, disk } = await endedAttachment(t, 'refused after its restart');
  await attachDisk(cloud, { vmCid, diskCid: disk });
  node.leftMounts.add(disk);
  node.busyDisks.add(disk);
  const ended = ends['refused after its restart']?.([]);
  const reference = { resource: pods, namespace, name: `attach-${disk}` };
  await nodeIsReady(cloud);
  let isAsked = false;
  const meanwhile = {
    ...cloud,
    exec: async (command: Parameters<typeof cloud.exec>[0]) => {
      if (!isAsked && command.pod === reference.name) {
        isAsked = true;
        await cloud.api.patch(reference, { status: ended }, { subresource: 'status' });
      }
      return cloud.exec(command);
    },
  };

  await assert.rejects(
    detachDisk(meanwhile, { vmCid, diskCid: disk }),
    rejection('DISK_BUSY', /could not be reached .*detach it again/u),
  );

  assert.ok(isAsked);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
});

const failure = (message: string, code = 500): ApiError =>
  new ApiError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, message });

test('an attachment that its kubelet has ended while the container of the VM waits for its restart: the disk is taken out before it is detached', async (t) => {
  const { cloud, api, node, disk } = await endedAttachment(t, 'evicted for lack of room');
  node.leftMounts.add(disk);
  const vm = { resource: pods, namespace, name: vmCid };
  const { status } = await api.get<Pod>(vm);
  const containerStatuses = (status?.containerStatuses ?? []).map((container) => ({
    ...container,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
  }));
  await api.patch(vm, { status: { containerStatuses } }, { subresource: 'status' });
  const exec: typeof cloud.exec = (command) =>
    command.pod === vmCid ? Promise.reject(failure('container not found')) : cloud.exec(command);

  await detachDisk({ ...cloud, exec }, { vmCid, diskCid: disk });

  assert.ok(node.releasedDisks.has(disk), 'the mount is in the hub, and the container starts again with it');
});

for (const [verb, change] of [
  ['attach_disk', attachDisk],
  ['detach_disk', detachDisk],
] as const) {
  test(`the successor of an ended attachment, and ${verb} fails: what a job writes to is not asked to go`, async (t) => {
    const { cloud, api, node, disk } = await endedAttachment(t, 'evicted for lack of room');
    node.leftMounts.add(disk);
    node.busyDisks.add(disk);
    const noLeader = failure('etcdserver: no leader');
    const failing = interceptingApi(cloud.api, (request) =>
      request === `patch persistentvolumeclaims ${disk}` ? Promise.reject(noLeader) : Promise.resolve(),
    );

    await assert.rejects(
      change({ ...cloud, api: failing }, { vmCid, diskCid: disk }),
      rejection(
        'KUBERNETES_API',
        /etcdserver: no leader.*; disk '.*' may be in the VM, so its attachment pod stays/u,
      ),
    );

    assert.equal((await attachmentOf(api, disk)).metadata.deletionTimestamp, undefined);
    await attachDisk(cloud, { vmCid, diskCid: disk });
  });
}

test('a successor that never runs is no witness for a free disk: the VM is asked', async (t) => {
  const { cloud, api, node, disk } = await endedAttachment(t, 'evicted for lack of room');
  node.leftMounts.add(disk);
  node.unschedulable = 'Insufficient cpu';
  await nodeIsReady(cloud);
  const lines: string[] = [];
  const told = { ...cloud, reportProgress: (line: string) => void lines.push(line), clock: quickLooks };
  await assert.rejects(attachDisk(told, { vmCid, diskCid: disk }), /Insufficient cpu/u);
  assert.match(
    lines[0] ?? '',
    /^waiting for a node to take pod attach-disk-.*: .*Unschedulable: Insufficient cpu$/u,
  );
  const exec: typeof cloud.exec = (command) =>
    command.pod === vmCid
      ? cloud.exec(command)
      : Promise.reject(failure('pod does not have a host assigned'));

  await assert.rejects(detachDisk({ ...cloud, exec }, { vmCid, diskCid: disk }), rejection('DISK_BUSY'));

  assert.equal((await attachmentOf(api, disk)).metadata.deletionTimestamp, undefined);
  node.leftMounts.delete(disk);
  await detachDisk({ ...cloud, exec }, { vmCid, diskCid: disk });
  assert.deepEqual(await getDisks(cloud, { vmCid }), []);
});

for (const [verb, change] of [
  ['attach_disk', attachDisk],
  ['detach_disk', detachDisk],
] as const) {
  test(`an ended attachment whose successor is not admitted stays when ${verb} fails: it is all that tells of the mount`, async (t) => {
    const { cloud, api, node, disk, uid } = await endedAttachment(t, 'evicted for lack of room');
    node.leftMounts.add(disk);
    // a terminal pod does not count in the quota, and another pod has its room
    const full = failure(`pods "attach-${disk}" is forbidden: exceeded quota: small`, 403);
    const refusing = interceptingApi(cloud.api, (request) =>
      request === `create pods attach-${disk}` ? Promise.reject(full) : Promise.resolve(),
    );

    await assert.rejects(change({ ...cloud, api: refusing }, { vmCid, diskCid: disk }), full);

    assert.equal((await attachmentOf(api, disk)).metadata.uid, uid);
    await assert.rejects(deleteDisk(cloud, { diskCid: disk }), rejection('DISK_BUSY'));
  });
}
