import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Clock, systemClock } from '../platform/clock.ts';
import type { Resource } from '../kubernetes/api.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { networkPolicies, persistentVolumeClaims, pods, services } from '../kubernetes/resources.ts';
import type { CallContext } from './call.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { detachDisk } from './disk/detach-disk.ts';
import { baseLabels } from './objects/labels.ts';
import { createNetwork } from './network/create-network.ts';
import { deleteNetwork } from './network/delete-network.ts';
import { networkPolicyKind } from './testing/foreign-kinds.ts';
import { interceptingApi } from './testing/intercepting-api.ts';
import { rejection } from './testing/rejection.ts';
import { type TestCloud, createVmRequest, namespace, testCloud, vmCidOfTest } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { rebootVm } from './vm/reboot-vm.ts';
import type { AttachDiskRequest } from './protocol/methods.ts';

/** Values of an order of magnitude that no pause and no other deadline has. */
const deadlines = { create_vm: 7001, delete_vm: 7002, attach_disk: 7003, detach_disk: 7004, reboot_vm: 7005 };
/** The methods for networks have a fixed deadline. */
const ofNetworks = 300;
/** Ends every deadline of this file at once; other waits are unchanged. */
const impatient: Clock = {
  now: () => systemClock.now(),
  sleep: (milliseconds, signal) => systemClock.sleep(milliseconds >= 300_000 ? 20 : milliseconds, signal),
};

type World = TestCloud & { readonly impatiently: CallContext };

async function startWorld(t: TestContext, attach = 'hot'): Promise<World> {
  const world = await testCloud(t, { deadlines, kubernetes: { attach } }, [networkPolicyKind]);
  return { ...world, impatiently: { ...world.cloud, clock: impatient } };
}

/**
 * Deletes that object so that it stays terminating: it has a finalizer of another program or, for a pod, its
 * node is silent.
 */
async function holdDeleted({ api, node }: TestCloud, resource: Resource, name: string): Promise<void> {
  const reference = { resource, namespace, name };
  if (resource === pods) await node.stop();
  else await api.patch<KubernetesObject>(reference, { metadata: { finalizers: ['example.com/held'] } });
  await api.delete(reference);
}

const waited = (seconds: number, what: string): RegExp => new RegExp(`waited ${seconds} s for ${what}`, 'u');
const dynamic = { default: { type: 'dynamic' } };
const policy = {
  definition: { type: 'manual', range: '10.0.0.0/24', cloud_properties: { network_policy: true } },
};

test('create_vm waits as long as create_vm may for a VM that still has its address', async (t) => {
  const world = await startWorld(t);
  await createVm(world.cloud, createVmRequest());
  await holdDeleted(world, pods, vmCidOfTest);
  await assert.rejects(
    createVm(world.impatiently, createVmRequest({ agentId: 'other' })),
    rejection('VM_CREATION_FAILED_RETRY', waited(deadlines.create_vm, `VM '${vmCidOfTest}'`)),
  );
});

test('create_vm waits as long as create_vm may for a Service of its name that is being deleted', async (t) => {
  const world = await startWorld(t);
  const properties = { services: [{ name: 'web', ports: [{ port: 80 }] }] };
  await createVm(world.cloud, createVmRequest({ properties, networks: dynamic }));
  await holdDeleted(world, services, 'web');
  await assert.rejects(
    createVm(world.impatiently, createVmRequest({ properties, networks: dynamic })),
    rejection('VM_CREATION_FAILED_RETRY', waited(deadlines.create_vm, "the previous Service 'web'")),
  );
});

test('create_vm waits as long as create_vm may for a claim of its name that is being deleted', async (t) => {
  const world = await startWorld(t, 'recreate');
  await createVm(world.cloud, createVmRequest());
  await holdDeleted(world, persistentVolumeClaims, `${vmCidOfTest}-data`);
  await assert.rejects(
    createVm(world.impatiently, createVmRequest()),
    rejection('VM_CREATION_FAILED_RETRY', waited(deadlines.create_vm, `claim '${vmCidOfTest}-data'`)),
  );
});

for (const [method, seconds, run] of [
  [
    'attach_disk',
    deadlines.attach_disk,
    (cloud: CallContext, request: AttachDiskRequest) => attachDisk(cloud, request),
  ],
  [
    'detach_disk',
    deadlines.detach_disk,
    (cloud: CallContext, request: AttachDiskRequest) => detachDisk(cloud, request),
  ],
  [
    'reboot_vm',
    deadlines.reboot_vm,
    (cloud: CallContext, request: AttachDiskRequest) => rebootVm(cloud, request),
  ],
] as const) {
  test(`${method} (recreate) waits as long as ${method} may for the previous pod to end`, async (t) => {
    const world = await startWorld(t, 'recreate');
    await createVm(world.cloud, createVmRequest());
    const disk = await createDisk(world.cloud, { sizeMiB: 64, cloudProperties: {} });
    if (method === 'detach_disk') await attachDisk(world.cloud, { vmCid: vmCidOfTest, diskCid: disk });
    await holdDeleted(world, pods, vmCidOfTest);
    await assert.rejects(
      run(world.impatiently, { vmCid: vmCidOfTest, diskCid: disk }),
      waited(seconds, 'the previous pod'),
    );
  });
}

test('create_network and delete_network wait for a network as long as they ever do, whatever delete_vm may', async (t) => {
  const world = await startWorld(t);
  const [cid] = await createNetwork(world.cloud, policy);
  await holdDeleted(world, networkPolicies, cid);
  const message = waited(ofNetworks, `.*network '${cid}'`);
  await assert.rejects(deleteNetwork(world.impatiently, { networkCid: cid }), rejection('DEADLINE', message));
  await assert.rejects(createNetwork(world.impatiently, policy), rejection('DEADLINE', message));
});

/**
 * The maximum number of attempts, in a call that other writers disturb each time; a call that never ends
 * fails the test.
 */
const enough = 50;

test('create_network ends if other clients keep creating and deleting its network', async (t) => {
  const { impatiently: cloud, api } = await startWorld(t);
  const [cid] = await createNetwork(cloud, policy);
  const reference = { resource: networkPolicies, namespace, name: cid };
  const object = await api.get<KubernetesObject>(reference);
  let count = 0;
  const contended = interceptingApi(cloud.api, async (request) => {
    if (request === `get networkpolicies ${cid}`) await api.delete(reference);
    if (request !== `create networkpolicies ${cid}`) return;
    count += 1;
    assert.ok(count < enough);
    const metadata = { name: cid, namespace, labels: baseLabels({ directorUuid: 'director-1' }, 'network') };
    if (count > 1) await api.create(networkPolicies, { ...object, metadata });
  });
  await assert.rejects(
    createNetwork({ ...cloud, api: contended }, policy),
    rejection('KUBERNETES_CONFLICT', /other calls keep changing/u),
  );
});

test('create_vm ends if other clients keep creating and deleting a claim of its name', async (t) => {
  const { impatiently: cloud, api } = await startWorld(t, 'recreate');
  const name = `${vmCidOfTest}-state`;
  const reference = { resource: persistentVolumeClaims, namespace, name };
  let count = 0;
  const contended = interceptingApi(cloud.api, async (request) => {
    if (request === `get persistentvolumeclaims ${name}`) await api.delete(reference);
    if (request !== `create persistentvolumeclaims ${name}`) return;
    count += 1;
    assert.ok(count < enough);
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const labels = baseLabels({ directorUuid: 'director-1' }, 'volume');
    await api.create(persistentVolumeClaims, { metadata: { name, namespace, labels }, spec });
  });
  await assert.rejects(
    createVm({ ...cloud, api: contended }, createVmRequest()),
    rejection('VM_CREATION_FAILED_RETRY', /other calls keep changing/u),
  );
});
