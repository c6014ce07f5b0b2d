import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  networkPolicies,
  persistentVolumeClaims,
  pods,
  resourceQuotas,
  secrets,
  services,
  volumeSnapshots,
} from '../kubernetes/resources.ts';
import type { KubernetesApi, Resource } from '../kubernetes/api.ts';
import { updateDisk } from './disk/update-disk.ts';
import { createNetwork } from './network/create-network.ts';
import { boundDisk, claimOf } from './testing/bound-disk.ts';
import { Crash, crashingApi } from './testing/crashing-api.ts';
import { networkPolicyKind } from './testing/foreign-kinds.ts';
import { rejection } from './testing/rejection.ts';
import { storageCloud } from './testing/storage-cloud.ts';
import { createVmRequest, namesLeft, namespace, testCloud, vmCidOfTest } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import type { CreateVmRequest } from './protocol/methods.ts';

/**
 * Creates a quota that the existing objects of these kinds use up. A server reports a full quota before it
 * reports that an object exists.
 */
async function fill(api: KubernetesApi, ...resources: readonly Resource[]): Promise<void> {
  const counts = resources.map(async (resource) => {
    const { items } = await api.list(resource, { namespace });
    assert.ok(items.length > 0, resource.plural);
    const { plural, group } = resource;
    return [`count/${plural}${group === '' ? '' : `.${group}`}`, String(items.length)];
  });
  const spec = { hard: Object.fromEntries(await Promise.all(counts)) as Record<string, string> };
  const quota = { metadata: { namespace, name: 'full' }, spec };
  await api.create(resourceQuotas, quota);
}

const uidOf = async (api: KubernetesApi, resource: Resource, name: string): Promise<string | undefined> =>
  (await api.get({ resource, namespace, name })).metadata.uid;

for (const attach of ['hot', 'recreate']) {
  test(`create_vm (${attach}) again after its answer was lost finds the VM, whatever the quotas say`, async (t) => {
    const { cloud, api } = await testCloud(t, { kubernetes: { attach } });
    const args = createVmRequest({ properties: { services: [{ name: 'web', ports: [{ port: 80 }] }] } });
    const answer = await createVm(cloud, args);
    const former = await uidOf(api, pods, vmCidOfTest);
    const claims = attach === 'recreate' ? [persistentVolumeClaims] : [];
    await fill(api, secrets, pods, services, ...claims);
    assert.deepEqual(await createVm(cloud, args), answer);
    assert.equal(await uidOf(api, pods, vmCidOfTest), former);
  });
}

test('the Service of a group is joined by its next VM when the quota of Services is used up', async (t) => {
  const { cloud, api } = await testCloud(t);
  const member = (agentId: string): CreateVmRequest =>
    createVmRequest({
      agentId,
      networks: { default: { type: 'dynamic' } },
      properties: { services: [{ name: 'web', ports: [{ port: 80 }] }] },
      env: { bosh: { group: 'd-web' } },
    });
  await createVm(cloud, member('one'));
  await fill(api, services);
  await createVm(cloud, member('two'));
  const { metadata } = await api.get({ resource: services, namespace, name: 'web' });
  assert.deepEqual(
    metadata.ownerReferences?.map(({ name }) => name),
    ['vm-one', 'vm-two'],
  );
});

test('a new object is rejected with the message of the quota, and nothing remains', async (t) => {
  const { cloud, api } = await testCloud(t);
  await createVm(cloud, createVmRequest({ agentId: 'one' }));
  await fill(api, pods);
  await assert.rejects(
    createVm(cloud, createVmRequest({ agentId: 'two', networks: { default: { type: 'dynamic' } } })),
    rejection('VM_CREATION_FAILED_RETRY', /exceeded quota: full, .*raise ResourceQuota full/u),
  );
  assert.deepEqual(await namesLeft(api), ['pods vm-one', 'secrets vm-one']);
});

// the disk is marked; then its snapshot, the replacement and, in a class that waits, the pod that binds it
// are made
for (const [storageClass, writes, ...made] of [
  ['other', 3, volumeSnapshots, persistentVolumeClaims],
  ['later', 4, volumeSnapshots, persistentVolumeClaims, pods],
] as const) {
  test(`update_disk into the class ${storageClass}, killed and called again, continues with the objects that it has created`, async (t) => {
    const world = await storageCloud(t);
    const { cloud, api } = world;
    const disk = await boundDisk(world);
    const args = { diskCid: disk, sizeMiB: 64, cloudProperties: { storage_class: storageClass } };
    const dying = { ...cloud, api: crashingApi(api, writes, 'after') };
    await assert.rejects(updateDisk(dying, args), (error) => error instanceof Crash);
    const { items } = await api.list(persistentVolumeClaims, { namespace });
    const [half] = items.filter(({ metadata }) => metadata.name !== disk);
    assert.ok(half !== undefined);
    await fill(api, ...made);
    const copy = await updateDisk(cloud, args);
    assert.ok(copy !== null);
    assert.equal(copy, half.metadata.name);
    assert.equal((await claimOf(world, copy)).metadata.uid, half.metadata.uid);
  });
}

test('create_network again finds the network when the quota of policies is used up', async (t) => {
  const { cloud, api } = await testCloud(t, {}, [networkPolicyKind]);
  const wanted = {
    definition: { type: 'manual', range: '10.0.0.0/24', cloud_properties: { network_policy: true } },
  };
  const made = await createNetwork(cloud, wanted);
  await fill(api, networkPolicies);
  assert.deepEqual(await createNetwork(cloud, wanted), made);
});
