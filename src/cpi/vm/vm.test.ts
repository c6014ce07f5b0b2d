import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { pods, secrets } from '../../kubernetes/resources.ts';
import { annotation } from '../objects/labels.ts';
import { countingApi } from '../testing/counting-api.ts';
import {
  createVmRequest,
  namesLeft,
  namespace,
  testCloud,
  vmCidOfTest as vmCid,
} from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import { deleteVm } from './delete-vm.ts';
import { hasVm } from './has-vm.ts';
import { setVmMetadata } from './set-vm-metadata.ts';
import { verbOf } from '../testing/verb-of.ts';

test('has_vm is false for what names no VM, also for pods of others', async (t) => {
  const { cloud, api } = await testCloud(t);
  await api.create<Pod>(pods, {
    metadata: { name: 'vm-foreign', namespace },
    spec: { containers: [{ name: 'c', image: 'i', command: ['c'] }] },
  });
  for (const cid of ['vm-none', 'vm-foreign', 'garbage', '', '../x', 7, null, undefined]) {
    assert.equal(await verbOf('has_vm')(cloud, [cid]), false);
  }
});

test('has_vm asks for one pod, however many there are', async (t) => {
  const { cloud } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  const { api, requests } = countingApi(cloud.api);
  assert.equal(await hasVm({ ...cloud, api }, { vmCid }), true);
  assert.deepEqual(requests, { reads: ['get pods'], writes: [] });
});

test('delete_vm touches nothing of others', async (t) => {
  const { cloud, api } = await testCloud(t);
  await api.create(secrets, { metadata: { name: 'vm-foreign', namespace } });
  await deleteVm(cloud, { vmCid: 'vm-foreign' });
  await deleteVm(cloud, { vmCid: 'garbage' });
  assert.deepEqual(await namesLeft(api), ['secrets vm-foreign']);
});

test('create_vm does not take over a Secret of others', async (t) => {
  const { cloud, api } = await testCloud(t);
  await api.create(secrets, { metadata: { name: vmCid, namespace } });
  await assert.rejects(
    createVm(cloud, createVmRequest()),
    (error) =>
      isProductError(error, 'VM_CREATION_FAILED') && error.message.includes('not managed by this CPI'),
  );
  assert.deepEqual(await namesLeft(api), [`secrets ${vmCid}`]);
});

test('delete_vm collects a Secret whose pod is gone', async (t) => {
  const { cloud, api } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  await api.delete({ resource: pods, namespace, name: vmCid }, { gracePeriodSeconds: 0 });
  assert.equal(await hasVm(cloud, { vmCid }), false);
  await deleteVm(cloud, { vmCid });
  assert.deepEqual(await namesLeft(api), []);
});

test("set_vm_metadata: free text, long text, no text; what is gone goes; the VM's own labels stay", async (t) => {
  const { cloud, api } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  const own = (await api.get<Pod>({ resource: pods, namespace, name: vmCid })).metadata.labels ?? {};
  const metadata = { name: 'group/7', job: 'a b', index: 7, id: 'x'.repeat(70), tag: 'ünïcode', none: null };
  await setVmMetadata(cloud, { vmCid, metadata });
  const full = (await api.get<Pod>({ resource: pods, namespace, name: vmCid })).metadata;
  assert.deepEqual(JSON.parse(full.annotations?.[annotation.metadata] ?? ''), metadata);
  assert.equal(full.labels?.['bosh.cloudfoundry.org/index'], '7');
  assert.match(full.labels?.['bosh.cloudfoundry.org/instance-group'] ?? '', /^a-b-x/u);

  await setVmMetadata(cloud, { vmCid, metadata: {} });
  const empty = (await api.get<Pod>({ resource: pods, namespace, name: vmCid })).metadata;
  assert.deepEqual(empty.labels, own);
  assert.equal(empty.annotations?.[annotation.metadata], '{}');
  await assert.rejects(setVmMetadata(cloud, { vmCid: 'vm-none', metadata: {} }), (error) =>
    isProductError(error, 'VM_NOT_FOUND'),
  );
});
