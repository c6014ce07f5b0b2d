import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../test/support/until.ts';
import { ApiError, isApiError } from '../kubernetes/client/api-error.ts';
import type { Node } from '../kubernetes/types/node.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { nodes, pods } from '../kubernetes/resources.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { deleteDisk } from './disk/delete-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { interceptingApi } from './testing/intercepting-api.ts';
import { type SimulatedWorld, startSimulatedWorld } from './testing/simulated-world.ts';
import { createVmRequest, namesLeft, namespace } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';
import { hasVm } from './vm/has-vm.ts';
import { rebootVm } from './vm/reboot-vm.ts';
import { rejection } from './testing/rejection.ts';

const dynamic = { default: { type: 'dynamic' } };
const zone = (name: string): { zone: string } => ({ zone: name });
let count = 0;

async function newVm({ cloud }: SimulatedWorld, in_: string, networks: object = dynamic): Promise<string> {
  count += 1;
  const [cid] = await createVm(
    cloud,
    createVmRequest({ agentId: `agent-${count}`, networks, properties: zone(in_) }),
  );
  return cid;
}

async function newDisk(world: SimulatedWorld, vm: string): Promise<string> {
  await world.addVolume();
  const disk = await createDisk(world.cloud, {
    sizeMiB: 16,
    cloudProperties: { storage_class: '' },
    vmCid: vm,
  });
  await attachDisk(world.cloud, { vmCid: vm, diskCid: disk });
  return disk;
}

const podOf = ({ cloud }: SimulatedWorld, name: string): Promise<Pod> =>
  cloud.api.get<Pod>({ resource: pods, namespace, name });

/** Makes the node silent for longer than the deadline `lost_node`, which is 1 s here. */
async function lose({ cluster, cloud }: SimulatedWorld, name: string): Promise<void> {
  cluster.nodes.stopHeartbeat(name);
  await until(`node ${name} to be lost`, async () => {
    const { status } = await cloud.api.get<Node>({ resource: nodes, name });
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    return ready?.status === 'Unknown' && Date.now() - Date.parse(ready.lastTransitionTime ?? '') > 1000;
  });
}

async function taintOutOfService({ cloud }: SimulatedWorld, name: string): Promise<void> {
  const { spec } = await cloud.api.get<Node>({ resource: nodes, name });
  const outOfService = {
    key: 'node.kubernetes.io/out-of-service',
    value: 'nodeshutdown',
    effect: 'NoExecute',
  };
  await cloud.api.patch(
    { resource: nodes, name },
    { spec: { taints: [...(spec?.taints ?? []), outOfService] } },
  );
}

const settles = /kubectl taint nodes sim-1 node\.kubernetes\.io\/out-of-service=nodeshutdown:NoExecute/u;
/** The next step if the node comes back, for calls whose work Kubernetes does not complete by itself. */
const againIfBack = /if it comes back, run the call again$/u;

test('deleted node: delete_vm waits for the deletion of the pod, then succeeds; the disk survives and can be attached elsewhere', async (t) => {
  const world = await startSimulatedWorld(t);
  const { cloud } = world;
  const vm = await newVm(world, 'z1', { default: { type: 'manual', ip: '127.64.0.10' } });
  const disk = await newDisk(world, vm);
  world.cluster.nodes.stopHeartbeat('sim-1');
  await cloud.api.delete({ resource: nodes, name: 'sim-1' });

  await deleteVm(cloud, { vmCid: vm });
  assert.deepEqual(await namesLeft(world.cluster.api), [`persistentvolumeclaims ${disk}`]);
  const next = await newVm(world, 'z2', { default: { type: 'manual', ip: '127.64.0.10' } });
  await attachDisk(cloud, { vmCid: next, diskCid: disk });
  assert.deepEqual(await getDisks(cloud, { vmCid: next }), [disk]);
});

test('node tainted out-of-service: the same', async (t) => {
  const world = await startSimulatedWorld(t);
  const vm = await newVm(world, 'z1');
  const disk = await newDisk(world, vm);
  await lose(world, 'sim-1');
  await taintOutOfService(world, 'sim-1');

  await deleteVm(world.cloud, { vmCid: vm });
  assert.deepEqual(await namesLeft(world.cluster.api), [`persistentvolumeclaims ${disk}`]);
  await attachDisk(world.cloud, { vmCid: await newVm(world, 'z2'), diskCid: disk });
});

test('not ready past a deadline, no disks, no fixed address: deleted by force', async (t) => {
  const world = await startSimulatedWorld(t);
  const vm = await newVm(world, 'z1');
  await lose(world, 'sim-1');
  assert.equal(await hasVm(world.cloud, { vmCid: vm }), true);
  await deleteVm(world.cloud, { vmCid: vm });
  assert.deepEqual(await namesLeft(world.cluster.api), []);
  assert.equal(await hasVm(world.cloud, { vmCid: vm }), false);
});

test('with a disk: an error that names disk, node and remedy; has_vm stays true; the remedy works', async (t) => {
  const world = await startSimulatedWorld(t);
  const { cloud } = world;
  const vm = await newVm(world, 'z1');
  const disks = [await newDisk(world, vm), await newDisk(world, vm)];
  await lose(world, 'sim-1');

  await assert.rejects(
    deleteVm(cloud, { vmCid: vm }),
    rejection('NODE_LOST', new RegExp(vm, 'u'), settles, ...disks.map((disk) => new RegExp(disk, 'u'))),
  );
  assert.equal(await hasVm(cloud, { vmCid: vm }), true);
  for (const disk of disks) await podOf(world, `attach-${disk}`);
  await taintOutOfService(world, 'sim-1');
  await deleteVm(cloud, { vmCid: vm });
  assert.equal(await hasVm(cloud, { vmCid: vm }), false);
});

test('with a disk under the strategy recreate: the same, although there is no attachment pod', async (t) => {
  const world = await startSimulatedWorld(t, 2, { kubernetes: { attach: 'recreate' } });
  const vm = await newVm(world, 'z1');
  const disk = await newDisk(world, vm);
  await lose(world, 'sim-1');
  await assert.rejects(
    deleteVm(world.cloud, { vmCid: vm }),
    rejection('NODE_LOST', new RegExp(disk, 'u'), settles),
  );
  await podOf(world, vm);
  await taintOutOfService(world, 'sim-1');
  await deleteVm(world.cloud, { vmCid: vm });
  assert.deepEqual(await namesLeft(world.cluster.api), [`persistentvolumeclaims ${disk}`]);
});

test('with a fixed address: the same error names the address', async (t) => {
  const world = await startSimulatedWorld(t);
  const vm = await newVm(world, 'z1', { default: { type: 'manual', ip: '127.64.0.10' } });
  await lose(world, 'sim-1');
  await assert.rejects(
    deleteVm(world.cloud, { vmCid: vm }),
    rejection('NODE_LOST', /127\.64\.0\.10/u, settles),
  );
  await podOf(world, vm);
});

test('a node that comes back before it is out of service: the deletion continues, as the error said', async (t) => {
  const world = await startSimulatedWorld(t);
  const vm = await newVm(world, 'z1');
  const disk = await newDisk(world, vm);
  await lose(world, 'sim-1');
  await assert.rejects(
    deleteVm(world.cloud, { vmCid: vm }),
    rejection('NODE_LOST', /if it comes back, the deletion goes on by itself$/u),
  );
  await world.cluster.nodes.resumeHeartbeat('sim-1');
  await deleteVm(world.cloud, { vmCid: vm });
  assert.deepEqual(await namesLeft(world.cluster.api), [`persistentvolumeclaims ${disk}`]);
});

test('a node that is silent for a moment: nothing is forced, the pod is deleted when it is back', async (t) => {
  const world = await startSimulatedWorld(t, 2, { deadlines: { lost_node: 600, delete_vm: 120 } });
  const vm = await newVm(world, 'z1');
  world.cluster.nodes.stopHeartbeat('sim-1');
  const deletion = deleteVm(world.cloud, { vmCid: vm });
  await until(
    'the deletion to be asked for',
    async () => (await podOf(world, vm)).metadata.deletionTimestamp,
  );
  await until('the node to be unknown', async () => {
    const { status } = await world.cloud.api.get<Node>({ resource: nodes, name: 'sim-1' });
    return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'Unknown');
  });
  await podOf(world, vm);
  await world.cluster.nodes.resumeHeartbeat('sim-1');
  await deletion;
});

test('delete_vm deletes the remaining objects if the pod does not exist anymore', async (t) => {
  const world = await startSimulatedWorld(t);
  const { cloud } = world;
  const vm = await newVm(world, 'z1');
  const disk = await newDisk(world, vm);
  await cloud.api.delete({ resource: pods, namespace, name: vm }, { gracePeriodSeconds: 0 });
  assert.equal(await hasVm(cloud, { vmCid: vm }), false);
  await deleteVm(cloud, { vmCid: vm });
  assert.deepEqual(await namesLeft(world.cluster.api), [`persistentvolumeclaims ${disk}`]);
  await deleteDisk(cloud, { diskCid: disk });
});

test('a role that may not read nodes: the wait ends at its deadline and says so', async (t) => {
  const world = await startSimulatedWorld(t, 2, { deadlines: { lost_node: 1, delete_vm: 2 } });
  const vm = await newVm(world, 'z1');
  await lose(world, 'sim-1');
  const forbidden = interceptingApi(world.cloud.api, (request) =>
    request === 'get nodes sim-1' ? Promise.reject(failure(403, 'Forbidden')) : Promise.resolve(),
  );
  await assert.rejects(
    deleteVm({ ...world.cloud, api: forbidden }, { vmCid: vm }),
    rejection('DEADLINE', /VM '.*' to be deleted/u),
  );
  await podOf(world, vm);
});

test('detach_disk from a lost node: NODE_LOST, still attached; it succeeds once the node is out of service', async (t) => {
  const world = await startSimulatedWorld(t);
  const { cloud } = world;
  const vm = await newVm(world, 'z1');
  const disk = await newDisk(world, vm);
  await lose(world, 'sim-1');
  await assert.rejects(
    detachDisk(cloud, { vmCid: vm, diskCid: disk }),
    rejection('NODE_LOST', new RegExp(disk, 'u'), settles, againIfBack),
  );
  assert.deepEqual(await getDisks(cloud, { vmCid: vm }), [disk]);
  await taintOutOfService(world, 'sim-1');
  await detachDisk(cloud, { vmCid: vm, diskCid: disk });
  await assert.rejects(podOf(world, `attach-${disk}`), (error) => isApiError(error, 404));
});

test('attach_disk to a lost node: an error before the deadline, and nothing remains', async (t) => {
  const world = await startSimulatedWorld(t, 2, {
    deadlines: { schedule: 60, attach_disk: 60, lost_node: 1 },
  });
  const { cloud } = world;
  const vm = await newVm(world, 'z1');
  await world.addVolume();
  const disk = await createDisk(cloud, { sizeMiB: 16, cloudProperties: { storage_class: '' }, vmCid: vm });
  await lose(world, 'sim-1');
  await assert.rejects(
    attachDisk(cloud, { vmCid: vm, diskCid: disk }),
    rejection('DISK_NOT_ATTACHABLE', /node 'sim-1' of the VM has not answered since/u),
  );
  assert.ok(!(await namesLeft(world.cluster.api)).includes(`pods attach-${disk}`));
});

test('an API server that restarts between two reads of a node ends no wait', async (t) => {
  const world = await startSimulatedWorld(t);
  const vm = await newVm(world, 'z1');
  await lose(world, 'sim-1');
  let looks = 0;
  const api = interceptingApi(world.cloud.api, async (request) => {
    if (request !== 'get nodes sim-1') return;
    looks += 1;
    if (looks < 3) throw failure(503, 'ServiceUnavailable');
  });
  await deleteVm({ ...world.cloud, api }, { vmCid: vm });
  assert.equal(looks, 3);
  assert.deepEqual(await namesLeft(world.cluster.api), []);
});

const failure = (code: number, reason: string): ApiError =>
  new ApiError({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason, code },
    message: `nodes: ${reason}`,
  });

test('reboot_vm on a lost node: NODE_LOST, nothing was changed', async (t) => {
  const world = await startSimulatedWorld(t);
  const vm = await newVm(world, 'z1');
  await lose(world, 'sim-1');
  await assert.rejects(
    rebootVm(world.cloud, { vmCid: vm }),
    rejection('NODE_LOST', /was not rebooted/u, settles, againIfBack),
  );
  assert.equal(await hasVm(world.cloud, { vmCid: vm }), true);
});
