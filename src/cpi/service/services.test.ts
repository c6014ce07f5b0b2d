import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorCode } from '../../errors/error-table.ts';
import { isProductError } from '../../errors/product-error.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { secrets, services } from '../../kubernetes/resources.ts';
import type { Service } from '../../kubernetes/service.ts';
import type { Cloud } from '../cloud.ts';
import { startCollector } from '../testing/collector.ts';
import { createVmArguments, namesLeft, namespace, testCloud } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';

const rejection = (code: ErrorCode, message: RegExp) => (error: unknown) => {
  assert.ok(isProductError(error, code), String(error));
  assert.match(error.message, message);
  return true;
};

interface Wanted {
  readonly agentId: string;
  readonly services?: unknown;
  /** Null: create-env's, without one. */
  readonly group?: string | null;
  readonly networks?: unknown;
}

const ports = [{ port: 80, target_port: 8080 }];
const own = [{ name: 'web', selector: 'vm', ports }];
const shared = [{ name: 'web', ports }];

async function newVm(
  cloud: Cloud,
  { agentId, services: list = [], group = 'd-web', networks }: Wanted,
): Promise<string> {
  const [cid] = await createVm(
    cloud,
    createVmArguments({
      agentId,
      properties: { services: list },
      networks: networks ?? { default: { type: 'dynamic' } },
      env: group === null ? {} : { bosh: { group } },
    }),
  );
  return cid;
}

const get = (cloud: Cloud, name = 'web'): Promise<Service> =>
  cloud.api.get<Service>({ resource: services, namespace, name });
const owners = ({ metadata }: Service): string[] => (metadata.ownerReferences ?? []).map(({ name }) => name);
const holder = ({ spec }: Service): string | undefined => spec.selector?.['bosh.cloudfoundry.org/vm-id'];

test('a Service selects its group, is owned by the VM and goes with it', async (t) => {
  const { cloud, api } = await testCloud(t);
  const list = [
    {
      name: 'web',
      type: 'NodePort',
      ports: [{ name: 'http', port: 80, target_port: 8080, node_port: 30_080 }],
    },
    {
      name: 'fixed',
      cluster_ip: '127.127.0.9',
      ports: [{ port: 5432 }],
      annotations: { 'example.com/a': 'b' },
    },
    { name: 'balanced', type: 'LoadBalancer', load_balancer_ip: '192.0.2.1', ports: [{ port: 443 }] },
    { name: 'headless', cluster_ip: 'None', selector: { job: 'web' } },
  ];
  const cid = await newVm(cloud, { agentId: 'one', services: list });
  const web = await get(cloud);
  assert.deepEqual(web.spec.selector, {
    'bosh.cloudfoundry.org/kind': 'vm',
    'bosh.cloudfoundry.org/group': 'd-web',
  });
  assert.deepEqual(web.spec.ports, [
    { name: 'http', protocol: 'TCP', port: 80, targetPort: 8080, nodePort: 30_080 },
  ]);
  const secret = await api.get<KubernetesObject>({ resource: secrets, namespace, name: cid });
  assert.equal(web.metadata.ownerReferences?.[0]?.uid, secret.metadata.uid);
  const fixed = await get(cloud, 'fixed');
  assert.equal(fixed.spec.clusterIP, '127.127.0.9');
  assert.equal(fixed.metadata.annotations?.['example.com/a'], 'b');
  assert.equal((await get(cloud, 'balanced')).spec.loadBalancerIP, '192.0.2.1');
  assert.deepEqual((await get(cloud, 'headless')).spec.selector, { job: 'web' });

  await deleteVm(cloud, [cid]);
  assert.deepEqual(await namesLeft(api), []);
});

test("a group's Service is owned by all its VMs, made at once or not, and goes with the last", async (t) => {
  const { cloud, api } = await testCloud(t);
  await startCollector(t, api);
  const ids = ['one', 'two', 'three', 'four', 'five'];
  const cids = await Promise.all(ids.map((agentId) => newVm(cloud, { agentId, services: shared })));
  const made = await get(cloud);
  assert.deepEqual(owners(made).toSorted(), cids.toSorted());
  const [last = '', ...others] = cids;
  await Promise.all(others.map((cid) => deleteVm(cloud, [cid])));
  for (let tries = 0; tries < 500 && owners(await get(cloud)).length > 1; tries += 1) await delay(10);
  assert.deepEqual(owners(await get(cloud)), [last]);
  assert.equal((await get(cloud)).metadata.uid, made.metadata.uid);
  await deleteVm(cloud, [last]);
  assert.deepEqual(await namesLeft(api), []);
});

test('create-swap-delete: the Service of one VM stays with it until it is deleted, then passes to its successor', async (t) => {
  const { cloud, api } = await testCloud(t);
  const former = await newVm(cloud, { agentId: 'former', services: own });
  const before = await get(cloud);
  assert.equal(holder(before), former);
  const next = await newVm(cloud, { agentId: 'next', services: own });
  assert.equal(holder(await get(cloud)), former);
  await deleteVm(cloud, [former]);
  const after = await get(cloud);
  assert.equal(holder(after), next);
  assert.deepEqual(owners(after), [next]);
  assert.equal(after.metadata.uid, before.metadata.uid);
  assert.equal(after.spec.clusterIP, before.spec.clusterIP);
  await deleteVm(cloud, [next]);
  assert.deepEqual(await namesLeft(api), []);
});

test('a successor that comes when the former VM is gone already takes its Service', async (t) => {
  const { cloud, api } = await testCloud(t);
  const former = await newVm(cloud, { agentId: 'former', services: own });
  await api.delete({ resource: secrets, namespace, name: former });
  const next = await newVm(cloud, { agentId: 'next', services: own });
  assert.equal(holder(await get(cloud)), next);
});

test('a successor that is deleted first leaves the Service where it was', async (t) => {
  const { cloud, api } = await testCloud(t);
  await startCollector(t, api);
  const former = await newVm(cloud, { agentId: 'former', services: own });
  const next = await newVm(cloud, { agentId: 'next', services: own });
  await deleteVm(cloud, [next]);
  assert.equal(holder(await get(cloud)), former);
  await deleteVm(cloud, [former]);
  assert.deepEqual(await namesLeft(api), []);
});

test('without a group (create-env) a Service is of one VM, and another living VM cannot have it', async (t) => {
  const { cloud } = await testCloud(t);
  const former = await newVm(cloud, { agentId: 'former', services: shared, group: null });
  assert.equal(holder(await get(cloud)), former);
  await assert.rejects(
    newVm(cloud, { agentId: 'next', services: shared, group: null }),
    rejection('VM_CREATION_FAILED', /Service 'web' is that of VM 'vm-former'; delete that VM first/u),
  );
  await deleteVm(cloud, [former]);
  const next = await newVm(cloud, { agentId: 'next', services: shared, group: null });
  assert.equal(holder(await get(cloud)), next);
});

test('a changed list is applied by the next VM of the group, and keeps the address', async (t) => {
  const { cloud } = await testCloud(t);
  await newVm(cloud, { agentId: 'one', services: shared });
  const before = await get(cloud);
  const changed = [{ name: 'web', type: 'NodePort', ports: [{ port: 81, node_port: 30_081 }] }];
  await newVm(cloud, { agentId: 'two', services: changed });
  const after = await get(cloud);
  assert.deepEqual(after.spec.ports, [{ protocol: 'TCP', port: 81, targetPort: 81, nodePort: 30_081 }]);
  assert.equal(after.spec.clusterIP, before.spec.clusterIP);
  assert.deepEqual(owners(after), ['vm-one', 'vm-two']);
});

test('a Service of somebody else is left alone, and nothing is left of the VM', async (t) => {
  const { cloud, api } = await testCloud(t);
  await api.create(services, {
    metadata: { namespace, name: 'web' },
    spec: { ports: [{ port: 1 }] },
  } as Service);
  await assert.rejects(
    newVm(cloud, { agentId: 'one', services: shared }),
    rejection('VM_CREATION_FAILED', /Service 'web' exists in namespace bosh and is not of this CPI/u),
  );
  assert.deepEqual(await namesLeft(api), ['services web']);
});

test('a Service of another instance group is left alone', async (t) => {
  const { cloud, api } = await testCloud(t);
  await newVm(cloud, { agentId: 'one', services: shared });
  await assert.rejects(
    newVm(cloud, { agentId: 'two', services: shared, group: 'd-other' }),
    rejection('VM_CREATION_FAILED', /is of another instance group; give the Service another name/u),
  );
  assert.deepEqual(await namesLeft(api), ['pods vm-one', 'secrets vm-one', 'services web']);
});

test('what Kubernetes refuses is told in its words, and nothing is left', async (t) => {
  const { cloud, api } = await testCloud(t);
  const at = (name: string): unknown => [
    { name, type: 'NodePort', ports: [{ port: 80, node_port: 30_080 }] },
  ];
  await newVm(cloud, { agentId: 'one', services: at('web') });
  await assert.rejects(
    newVm(cloud, { agentId: 'two', services: at('other') }),
    rejection('VM_CREATION_FAILED', /provided port is already allocated/u),
  );
  assert.deepEqual(await namesLeft(api), ['pods vm-one', 'secrets vm-one', 'services web']);
});

test('a repeated call changes nothing, one with other Services replaces the VM', async (t) => {
  const { cloud, api } = await testCloud(t);
  await newVm(cloud, { agentId: 'one', services: shared });
  const { metadata } = await get(cloud);
  await newVm(cloud, { agentId: 'one', services: shared });
  assert.equal((await get(cloud)).metadata.resourceVersion, metadata.resourceVersion);
  await newVm(cloud, { agentId: 'one', services: [{ name: 'other', ports }] });
  assert.deepEqual(await namesLeft(api), ['pods vm-one', 'secrets vm-one', 'services other']);
});

const vip = (via: string): unknown => ({
  default: { type: 'dynamic' },
  public: {
    type: 'vip',
    ip: '127.127.0.50',
    cloud_properties: { vip: { via, ports: [{ port: 443, target_port: 8443 }] } },
  },
});

test('a vip is a Service of one VM with that address, which passes to the successor', async (t) => {
  const { cloud, api } = await testCloud(t);
  const former = await newVm(cloud, { agentId: 'former', networks: vip('cluster_ip') });
  const made = await get(cloud, 'vip-127-127-0-50');
  assert.equal(made.spec.clusterIP, '127.127.0.50');
  assert.equal(holder(made), former);
  const next = await newVm(cloud, { agentId: 'next', networks: vip('cluster_ip') });
  await deleteVm(cloud, [former]);
  assert.equal(holder(await get(cloud, 'vip-127-127-0-50')), next);
  await deleteVm(cloud, [next]);
  assert.deepEqual(await namesLeft(api), []);
});

for (const [given, outcome] of [
  ['127.127.0.50', undefined],
  ['192.0.2.7', /gave Service vip-127-127-0-50 the address 192\.0\.2\.7 instead of 127\.127\.0\.50/u],
] as const) {
  test(`a vip through a load balancer that gives ${given}`, async (t) => {
    const { cloud, api } = await testCloud(t);
    const making = newVm(cloud, { agentId: 'one', networks: vip('load_balancer') });
    const status = { loadBalancer: { ingress: [{ ip: given }] } };
    const reference = { resource: services, namespace, name: 'vip-127-127-0-50' };
    const balanced = (async () => {
      for await (const { type } of api.watch(services, { namespace })) {
        if (type === 'ADDED') return api.patch(reference, { status }, { subresource: 'status' });
      }
      return undefined;
    })();
    if (outcome === undefined) await making;
    else await assert.rejects(making, rejection('VM_CREATION_FAILED', outcome));
    await balanced;
    assert.equal((await namesLeft(api)).length, outcome === undefined ? 3 : 0);
  });
}

test('a vip without a load balancer: a deadline that says so, nothing left', async (t) => {
  const { cloud, api } = await testCloud(t, { deadlines: { create_vm: 1, delete_vm: 5 } });
  await assert.rejects(
    newVm(cloud, { agentId: 'one', networks: vip('load_balancer') }),
    rejection(
      'VM_CREATION_FAILED_RETRY',
      /a load balancer with the address 127\.127\.0\.50.*has this cluster a load/u,
    ),
  );
  assert.deepEqual(await namesLeft(api), []);
});
