import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../../errors/product-error.ts';
import { ApiError } from '../../../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../../kubernetes/api.ts';
import { namespaces, pods } from '../../../kubernetes/resources.ts';
import type { CallContext } from '../../call.ts';
import { parseConfig } from '../../config/config.ts';
import {
  createVmRequest,
  mbusPassword,
  namesLeft,
  namespace,
  testCloud,
  vmCidOfTest as vmCid,
} from '../../testing/test-cloud.ts';
import { createVm } from '../../vm/create-vm.ts';
import { attachDisk } from '../attach-disk.ts';
import { createDisk } from '../create-disk.ts';
import { getDisks } from '../get-disks.ts';
import { strategyOf } from './strategy.ts';

const auto = { kubernetes: { attach: 'auto' } };
const violates =
  'pods "attach-x" is forbidden: violates PodSecurity "baseline:latest": host namespaces, hostPath volumes, privileged';

/**
 * Returns an API server whose admission refuses privileged pods that mount the host, as a namespace's policy
 * does.
 */
function refusing(api: KubernetesApi, code: number, message: string): KubernetesApi {
  const refused = new ApiError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code,
    reason: 'Forbidden',
    message,
  });
  return {
    get: (reference) => api.get(reference),
    list: (resource, query) => api.list(resource, query),
    replace: (resource, object, subresource) => api.replace(resource, object, subresource),
    patch: (reference, patch, options) => api.patch(reference, patch, options),
    delete: (reference, options) => api.delete(reference, options),
    groups: () => api.groups(),
    watch: (resource, query) => api.watch(resource, query),
    create: (resource, object) => api.create(resource, object),
    dryRunCreate: (resource, object) => {
      const { volumes = [] } = (object as { spec?: { volumes?: { hostPath?: unknown }[] } }).spec ?? {};
      const isRefused = volumes.some(({ hostPath }) => hostPath !== undefined);
      return isRefused ? Promise.reject(refused) : api.dryRunCreate(resource, object);
    },
  };
}

async function strategyMade(cloud: CallContext): Promise<string> {
  await createVm(cloud, createVmRequest());
  return strategyOf(await cloud.api.get({ resource: pods, namespace, name: vmCid }));
}

test('auto is hot where an attachment is admitted; asking leaves nothing', async (t) => {
  const { cloud, api } = await testCloud(t, auto);
  assert.equal(await strategyMade(cloud), 'hot');
  assert.deepEqual(await namesLeft(api), [`pods ${vmCid}`, `secrets ${vmCid}`]);
});

test('auto is recreate where it is refused, and the VM stays that when the policy changes', async (t) => {
  const { cloud, api } = await testCloud(t, auto);
  assert.equal(await strategyMade({ ...cloud, api: refusing(api, 403, violates) }), 'recreate');

  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  assert.equal(await attachDisk(cloud, { vmCid, diskCid: disk }), `/warden-cpi-dev/disks/${disk}/store`);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
  const names = await namesLeft(api);
  assert.equal(names.includes(`pods attach-${disk}`), false);
});

test('a full quota refuses nothing for good; a server in trouble decides nothing', async (t) => {
  const { cloud, api } = await testCloud(t, auto);
  assert.equal(await strategyMade({ ...cloud, api: refusing(api, 403, 'exceeded quota: pods') }), 'hot');
  await assert.rejects(strategyMade({ ...cloud, api: refusing(api, 500, 'etcd is gone') }), /etcd is gone/);
});

test('disks of another namespace need an attachment: refused before anything is made', async (t) => {
  for (const attach of ['recreate', 'auto']) {
    const kubernetes = { attach, disk_namespace: 'disks' };
    const { cloud, api } = await testCloud(t, { kubernetes });
    await api.create(namespaces, { metadata: { name: 'disks' } });
    await assert.rejects(strategyMade({ ...cloud, api: refusing(api, 403, violates) }), (error) => {
      assert.ok(isProductError(error, 'NOT_SUPPORTED'), String(error));
      assert.match(error.message, /disk_namespace disks/);
      return true;
    });
    assert.deepEqual(await namesLeft(api), []);
  }
});

test('a VM of recreate is not given a disk of another namespace by a later configuration', async (t) => {
  const { cloud, api } = await testCloud(t, { kubernetes: { attach: 'recreate' } });
  await api.create(namespaces, { metadata: { name: 'disks' } });
  await createVm(cloud, createVmRequest());
  const agent = { mbus: `https://mbus:${mbusPassword}@0.0.0.0:6868` };
  const config = parseConfig({ agent, kubernetes: { disk_namespace: 'disks' } }, {});
  const moved = { ...cloud, config, diskNamespace: 'disks' };
  const disk = await createDisk(moved, { sizeMiB: 64, cloudProperties: {}, vmCid });
  const { uid } = (await api.get({ resource: pods, namespace, name: vmCid })).metadata;
  await assert.rejects(attachDisk(moved, { vmCid, diskCid: disk }), (error) =>
    isProductError(error, 'NOT_SUPPORTED'),
  );
  assert.equal((await api.get({ resource: pods, namespace, name: vmCid })).metadata.uid, uid);
  assert.deepEqual(await getDisks(moved, { vmCid }), []);
});
