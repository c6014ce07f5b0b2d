import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { ApiError, isApiError } from '../../kubernetes/client/api-error.ts';
import { namespaces, persistentVolumeClaims, pods, resourceQuotas } from '../../kubernetes/resources.ts';
import { explainApiError } from '../errors/explain-api-error.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import {
  createVmRequest,
  namesLeft,
  namespace,
  testCloud,
  vmCidOfTest,
  type TestCloud,
} from '../testing/test-cloud.ts';
import { createDisk } from '../disk/create-disk.ts';
import { deleteDisk } from '../disk/delete-disk.ts';
import { setDiskMetadata } from '../disk/set-disk-metadata.ts';
import { checkVm } from './check-vm.ts';
import { createVm } from './create-vm.ts';
import { deleteVm } from './delete-vm.ts';
import { setVmMetadata } from './set-vm-metadata.ts';
import type { CheckVmRequest } from '../protocol/methods.ts';

/** Runs check_vm and asserts that it changes nothing. */
async function check({ cloud, api }: TestCloud, request: CheckVmRequest): Promise<string[]> {
  const before = await namesLeft(api);
  try {
    return await checkVm(cloud, request);
  } catch (error) {
    throw isApiError(error) ? explainApiError(error) : error;
  } finally {
    assert.deepEqual(await namesLeft(api), before);
  }
}

async function refuses(world: TestCloud, request: CheckVmRequest, words: RegExp): Promise<void> {
  await assert.rejects(check(world, request), (error) => {
    assert.ok(isProductError(error), String(error));
    assert.match(error.message, words);
    // a caller recognizes by these a CPI without the method
    assert.ok(!['NOT_SUPPORTED', 'NOT_IMPLEMENTED'].includes(error.code), error.code);
    return true;
  });
}

type Changes = NonNullable<Parameters<typeof createVmRequest>[0]>;

/** Returns the request for a VM that replaces another. */
const next = (changes: Changes = {}, formerVmCid?: string): CheckVmRequest => ({
  ...createVmRequest({ agentId: 'next', ...changes }),
  formerVmCid,
});

const manual = (network: object): Changes => ({
  networks: { default: { type: 'manual', netmask: '255.255.255.0', gateway: '127.64.0.1', ...network } },
});

const limit = ({ api }: TestCloud, hard: Record<string, string>, name = 'full'): Promise<unknown> =>
  api.create(resourceQuotas, { metadata: { namespace, name }, spec: { hard } } as never);

for (const attach of ['hot', 'recreate', 'auto']) {
  test(`a VM that can be made (${attach}) passes, beside none and for a running one with its address`, async (t) => {
    const world = await testCloud(t, { kubernetes: { attach } });
    assert.deepEqual(await check(world, next()), []);
    await createVm(world.cloud, createVmRequest());
    assert.deepEqual(await check(world, next({}, vmCidOfTest)), []);
  });
}

const faults: readonly [string, Changes, RegExp][] = [
  [
    'a manual network without an address',
    manual({}),
    /check_vm\.networks\.default\.ip is missing: a manual network needs an address \(static_ips\)/u,
  ],
  [
    "the gateway's address",
    manual({ ip: '127.64.0.1' }),
    /address 127\.64\.0\.1 is the gateway's; choose another one in static_ips, or correct the subnet's range/u,
  ],
  ['an address of no VM, the first', manual({ ip: '127.64.0.0' }), /127\.64\.0\.0 is the subnet's own/u],
  ['an address of no VM, the last', manual({ ip: '127.64.0.255' }), /127\.64\.0\.255 is the broadcast/u],
  [
    'an address out of range',
    manual({ ip: '127.64.7.9' }),
    /network 'default': the address 127\.64\.7\.9 is not in the subnet of its gateway 127\.64\.0\.1 \(\/24\)/u,
  ],
  [
    'an IPv6 address out of range',
    manual({ ip: 'fd00::1:9', netmask: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff::', gateway: 'fd00::1' }),
    /fd00::1:9 is not in the subnet of its gateway fd00::1 \(\/112\)/u,
  ],
  [
    'two interfaces',
    { networks: { one: { type: 'dynamic' }, two: { type: 'dynamic' } } },
    /a pod has one interface/u,
  ],
  ['no image reference', { image: 'Registry/Not An Image' }, /stemcell_cid is not an image reference/u],
  [
    'a missing storage class',
    { properties: { ephemeral_disk: { storage_class: 'none' } } },
    /check_vm\.cloud_properties\.ephemeral_disk\.storage_class names a class that the cluster does not have: "none"; make it, or name one of kubectl get storageclasses/u,
  ],
  [
    'a missing priority class',
    { properties: { priority_class: 'none' } },
    /no PriorityClass with name none.*correct priority_class/u,
  ],
  [
    'a missing runtime class',
    { properties: { runtime_class: 'none' } },
    /RuntimeClass "none" not found.*correct runtime_class/u,
  ],
  ['a missing service account', { properties: { service_account: 'none' } }, /correct service_account/u],
  ['a property that is none', { properties: { instance_type: 'm3' } }, /"instance_type"/u],
];
for (const [what, changes, words] of faults)
  test(`refused: ${what}`, async (t) => refuses(await testCloud(t), next(changes), words));

test('refused: an address of another VM; that of the VM that goes is free', async (t) => {
  const world = await testCloud(t);
  await createVm(world.cloud, createVmRequest());
  await createVm(world.cloud, createVmRequest({ ...manual({ ip: '127.64.0.11' }), agentId: 'other' }));
  await refuses(world, next({}, 'vm-other'), new RegExp(`VM '${vmCidOfTest}' has the address 127.64.0.10`));
  await refuses(world, next(), /has the address/u);
  assert.deepEqual(await check(world, next({}, vmCidOfTest)), []);
});

test('refused: what Pod Security does not admit, and a namespace that is not there', async (t) => {
  const world = await testCloud(t);
  await refuses(
    { ...world, cloud: { ...world.cloud, namespace: 'none', diskNamespace: 'none' } },
    next(),
    /namespaces "none" not found/u,
  );
  const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  await world.api.patch({ resource: namespaces, name: namespace }, { metadata: { labels } });
  await refuses(world, next(), /violates PodSecurity "baseline:latest".*give the VM that profile/su);
  assert.deepEqual(await check(world, next({ properties: { profile: 'baseline' } })), []);
});

test('refused: what a LimitRange or another policy says to the pod', async (t) => {
  const world = await testCloud(t);
  const message = 'pods "vm-next" is forbidden: maximum cpu usage per Container is 1, but limit is 2';
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 403 } as const;
  const api = interceptingApi(world.api, async (request) => {
    if (request === 'create pods vm-next') throw new ApiError({ ...status, reason: 'Forbidden', message });
  });
  await refuses(
    { ...world, cloud: { ...world.cloud, api } },
    next(),
    /maximum cpu usage.*or the LimitRange/u,
  );
});

const large = (cpu: number): Changes => ({ properties: { cpu } });

for (const attach of ['hot', 'recreate']) {
  test(`a quota that is full (${attach}) has room for the VM that replaces another, not for one more or a larger one`, async (t) => {
    const world = await testCloud(t, { kubernetes: { attach } });
    await createVm(world.cloud, createVmRequest(large(2)));
    const claims = String((await world.api.list(persistentVolumeClaims, { namespace })).items.length);
    await limit(world, { pods: '1', persistentvolumeclaims: claims, 'count/secrets': '1' });
    await limit(world, { 'requests.cpu': '2' }, 'compute');
    assert.deepEqual(await check(world, next(large(2), vmCidOfTest)), []);
    const dynamic = { networks: { default: { type: 'dynamic' } } };
    await refuses(world, next({ ...large(2), ...dynamic }), /ResourceQuota (?:full|compute) leaves no room/u);
    await refuses(
      world,
      next(large(3), vmCidOfTest),
      /^ResourceQuota compute leaves no room: requests\.cpu 3 requested, 2 used \(2 of it by the VM that is replaced\), 2 at most; raise the quota/u,
    );
  });
}

test('refused: objects that a quota has room for one by one, and not together', async (t) => {
  const world = await testCloud(t, { kubernetes: { attach: 'recreate' } });
  await limit(world, { persistentvolumeclaims: '1' });
  await refuses(world, next(), /persistentvolumeclaims 2 requested, 0 used, 1 at most/u);
});

/** Returns a world whose role may not list resourcequotas, like roles from before check_vm existed. */
function withoutQuotas(world: TestCloud): TestCloud {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 403 } as const;
  const api: typeof world.cloud.api = {
    ...interceptingApi(world.api, () => Promise.resolve()),
    list: async (resource, query) => {
      if (resource !== resourceQuotas) return world.api.list(resource, query);
      throw new ApiError({ ...status, reason: 'Forbidden', message: 'resourcequotas is forbidden' });
    },
  };
  return { ...world, cloud: { ...world.cloud, api } };
}

test('a role that may not list quotas: the refusal has the numbers, and what is not known is said', async (t) => {
  const world = withoutQuotas(await testCloud(t));
  assert.deepEqual(await check(world, next()), []);
  await createVm(world.cloud, createVmRequest(large(2)));
  await limit(world, { pods: '1', 'requests.cpu': '2' });
  const [note = '', ...more] = await check(world, next(large(2), vmCidOfTest));
  assert.match(note, /^ResourceQuota full is full until .* may not list resourcequotas/u);
  assert.deepEqual(more, []);
  await refuses(world, next(large(3), vmCidOfTest), /requests\.cpu 3 requested, 2 used \(2 of it/u);
  const dynamic = { networks: { default: { type: 'dynamic' } } };
  await refuses(world, next({ ...large(1), ...dynamic }), /pods 1 requested, 1 used, 1 at most/u);
});

test('an address where nothing shows that the network gives it is said to be unknown', async (t: TestContext) => {
  const world = await testCloud(t);
  const dynamic = { networks: { default: { type: 'dynamic' } } };
  await createVm(world.cloud, createVmRequest(dynamic));
  const [note = ''] = await check(world, next({}, vmCidOfTest));
  assert.match(
    note,
    /gives a pod the address 127\.64\.0\.10 is not known: it needs the static-ip CNI plugin/u,
  );
  assert.deepEqual(await check(world, next(dynamic, vmCidOfTest)), []);
  const { cloud } = world;
  const networks = { ...cloud.config.networks, addressStrategy: 'static-ip' as const };
  const sure = { ...world, cloud: { ...cloud, config: { ...cloud.config, networks } } };
  assert.deepEqual(await check(sure, next({}, vmCidOfTest)), []);
});

test('the claim that the cluster makes for the pod is asked for, too, where the role may', async (t) => {
  const world = await testCloud(t, { defaults: { ephemeral_disk: { size: 2048, storage_class: 'local' } } });
  await limit(world, { 'requests.storage': '1Gi' });
  await refuses(world, next(), /requests\.storage 2Gi requested, 0 used, 1Gi at most/u);
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 403 } as const;
  const message =
    'persistentvolumeclaims is forbidden: User "u" cannot create resource "persistentvolumeclaims"';
  const api = interceptingApi(world.api, async (request) => {
    if (request.startsWith('create persistentvolumeclaims'))
      throw new ApiError({ ...status, reason: 'Forbidden', message });
  });
  await world.api.delete({ resource: resourceQuotas, namespace, name: 'full' });
  const [note = ''] = await check({ ...world, cloud: { ...world.cloud, api } }, next());
  assert.match(note, /may not create persistentvolumeclaims in namespace bosh, so 'vm-next-data'/u);
});

test('what an interrupted create_vm has left of the new VM is no obstacle', async (t) => {
  const world = await testCloud(t);
  await createVm(world.cloud, createVmRequest({ agentId: 'next' }));
  await limit(world, { pods: '1', 'count/secrets': '1' });
  assert.deepEqual(await check(world, next()), []);
  assert.equal((await world.api.list(pods, { namespace })).items.length, 1);
});

test('a VM or a disk of the instance that the caller does not know ends the check, with what to do', async (t) => {
  const world = await testCloud(t, { kubernetes: { disk_namespace: 'disks' } });
  await world.api.create(namespaces, { metadata: { name: 'disks' } } as never);
  const { cloud } = world;
  const cid = vmCidOfTest;
  const metadata = { director: 'bosh-init', deployment: 'hello', instance_group: 'web', index: '0' };
  const newVm = next({ networks: { default: { type: 'dynamic' } } });
  await createVm(cloud, createVmRequest());
  await setVmMetadata(cloud, { vmCid: cid, metadata: { ...metadata, created_at: 'now' } });
  const advice = 'If this is another deployment, give it another name .*state restore';
  const refusal = (object: string): RegExp =>
    new RegExp(`'hello' has ${object}.* not name\\. ${advice}`, 'u');

  await refuses(world, { ...newVm, metadata }, refusal(`VM '${cid}'`));

  const diskCid = await createDisk(cloud, { sizeMiB: 1, cloudProperties: {} });
  const { index, ...group } = metadata;
  await setDiskMetadata(cloud, { diskCid, metadata: { ...group, instance_index: index } });
  const unchanged = async (changes: object, formerVmCid?: string): Promise<void> =>
    assert.deepEqual(await check(world, { ...newVm, metadata, formerVmCid, ...changes }), []);
  for (const change of [{ deployment: 'other' }, { instance_group: 'other' }, { director: 'other' }])
    await unchanged({ metadata: { ...metadata, ...change } });
  await unchanged({ metadata: {} }, cid);
  await deleteVm(cloud, { vmCid: cid });

  await refuses(world, { ...newVm, metadata }, refusal(`disk '${diskCid}' in namespace disks`));

  await deleteDisk(cloud, { diskCid });
  await unchanged({});
});
