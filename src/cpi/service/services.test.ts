import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { LocalApi } from '../../../embedded-cluster/api-server/local-api.ts';
import { GarbageCollector } from '../../../embedded-cluster/controllers/garbage-collector.ts';
import { startControllers } from '../../../embedded-cluster/controllers/start-controllers.ts';
import { FakeProvisioner } from '../../../embedded-cluster/controllers/testing/cluster-fixture.ts';
import { systemClock } from '../../platform/clock.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { secrets, services } from '../../kubernetes/resources.ts';
import type { Service } from '../../kubernetes/types/service.ts';
import type { CallContext } from '../call.ts';
import { createVmRequest, namesLeft, namespace, testCloud } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';
import { rejection } from '../testing/rejection.ts';

/** Starts only the cluster's garbage collector, for tests of objects that the CPI leaves to it. */
async function startCollector(t: TestContext, api: LocalApi): Promise<void> {
  const running = await startControllers({
    ...{
      api,
      provisioner: new FakeProvisioner(),
      clock: systemClock,
      controllers: (context) => [new GarbageCollector(context)],
    },
    random: () => 0,
    // a failed reconcile is retried, and a test that waits in vain fails with a message
    onError: () => undefined,
  });
  t.after(() => running.stop());
}

interface Wanted {
  readonly agentId: string;
  readonly services?: unknown;
  /** Null: no group, as with create-env. */
  readonly group?: string | null;
}

const ports = [{ port: 80, target_port: 8080 }];
const own = [{ name: 'web', selector: 'vm', ports }];
const shared = [{ name: 'web', ports }];

async function newVm(
  cloud: CallContext,
  { agentId, services: list = [], group = 'd-web' }: Wanted,
): Promise<string> {
  const [cid] = await createVm(
    cloud,
    createVmRequest({
      agentId,
      properties: { services: list },
      networks: { default: { type: 'dynamic' } },
      env: group === null ? {} : { bosh: { group } },
    }),
  );
  return cid;
}

const get = (cloud: CallContext, name = 'web'): Promise<Service> =>
  cloud.api.get<Service>({ resource: services, namespace, name });
const owners = ({ metadata }: Service): string[] => (metadata.ownerReferences ?? []).map(({ name }) => name);
const holder = ({ spec }: Service): string | undefined => spec.selector?.['bosh.cloudfoundry.org/vm-id'];

test('a Service selects its group, is owned by the VM and is deleted with it', async (t) => {
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

  await deleteVm(cloud, { vmCid: cid });
  assert.deepEqual(await namesLeft(api), []);
});

test("a group's Service is owned by all its VMs, created concurrently or not, and is deleted with the last one", async (t) => {
  const { cloud, api } = await testCloud(t);
  await startCollector(t, api);
  const ids = ['one', 'two', 'three', 'four', 'five'];
  const cids = await Promise.all(ids.map((agentId) => newVm(cloud, { agentId, services: shared })));
  const made = await get(cloud);
  assert.deepEqual(owners(made).toSorted(), cids.toSorted());
  const [last = '', ...others] = cids;
  await Promise.all(others.map((cid) => deleteVm(cloud, { vmCid: cid })));
  for (let tries = 0; tries < 500 && owners(await get(cloud)).length > 1; tries += 1) await delay(10);
  assert.deepEqual(owners(await get(cloud)), [last]);
  assert.equal((await get(cloud)).metadata.uid, made.metadata.uid);
  await deleteVm(cloud, { vmCid: last });
  assert.deepEqual(await namesLeft(api), []);
});

test('create-swap-delete: the Service of one VM stays with it until it is deleted, then passes to its successor', async (t) => {
  const { cloud, api } = await testCloud(t);
  const former = await newVm(cloud, { agentId: 'former', services: own });
  const before = await get(cloud);
  assert.equal(holder(before), former);
  const next = await newVm(cloud, { agentId: 'next', services: own });
  assert.equal(holder(await get(cloud)), former);
  await deleteVm(cloud, { vmCid: former });
  const after = await get(cloud);
  assert.equal(holder(after), next);
  assert.deepEqual(owners(after), [next]);
  assert.equal(after.metadata.uid, before.metadata.uid);
  assert.equal(after.spec.clusterIP, before.spec.clusterIP);
  await deleteVm(cloud, { vmCid: next });
  assert.deepEqual(await namesLeft(api), []);
});

test('of several successors the newest gets the Service, then the other', async (t) => {
  const { cloud } = await testCloud(t);
  const [former, next, newest] = [
    await newVm(cloud, { agentId: 'former', services: own }),
    await newVm(cloud, { agentId: 'next', services: own }),
    await newVm(cloud, { agentId: 'newest', services: own }),
  ];
  await deleteVm(cloud, { vmCid: former });
  assert.equal(holder(await get(cloud)), newest);
  await deleteVm(cloud, { vmCid: newest });
  assert.equal(holder(await get(cloud)), next);
});

test('a successor that comes after the previous VM was deleted takes its Service', async (t) => {
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
  await deleteVm(cloud, { vmCid: next });
  assert.equal(holder(await get(cloud)), former);
  await deleteVm(cloud, { vmCid: former });
  assert.deepEqual(await namesLeft(api), []);
});

test('without a group (create-env) a Service belongs to one VM, and another active VM cannot have it', async (t) => {
  const { cloud } = await testCloud(t);
  const former = await newVm(cloud, { agentId: 'former', services: shared, group: null });
  assert.equal(holder(await get(cloud)), former);
  await assert.rejects(
    newVm(cloud, { agentId: 'next', services: shared, group: null }),
    rejection('VM_CREATION_FAILED', /Service 'web' belongs to VM 'vm-former'; delete that VM first/u),
  );
  await deleteVm(cloud, { vmCid: former });
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

test('annotations that are no longer requested are removed, those of a load balancer stay', async (t) => {
  const { cloud, api } = await testCloud(t);
  const annotated = (annotations: object): unknown => [{ name: 'web', ports, annotations }];
  await newVm(cloud, { agentId: 'one', services: annotated({ 'example.com/a': '1', 'example.com/b': '1' }) });
  const foreign = { metadata: { annotations: { 'balancer.example/pool': 'x' } } };
  await api.patch({ resource: services, namespace, name: 'web' }, foreign);
  await newVm(cloud, { agentId: 'two', services: annotated({ 'example.com/b': '2' }) });
  const { annotations = {} } = (await get(cloud)).metadata;
  const shown = Object.entries(annotations).filter(([key]) => key.includes('example'));
  assert.deepEqual(Object.fromEntries(shown), { 'balancer.example/pool': 'x', 'example.com/b': '2' });
});

test('create_vm waits for a terminating Service, then creates it again', async (t) => {
  const { cloud, api } = await testCloud(t);
  const former = await newVm(cloud, { agentId: 'former', services: own });
  const reference = { resource: services, namespace, name: 'web' };
  await api.patch(reference, { metadata: { finalizers: ['service.kubernetes.io/load-balancer-cleanup'] } });
  const { metadata } = await get(cloud);
  const deleting = deleteVm(cloud, { vmCid: former });
  const making = (async () => {
    for await (const { type, object } of api.watch(services, { namespace })) {
      if (type !== 'ERROR' && object.metadata.deletionTimestamp !== undefined) break;
    }
    const next = newVm(cloud, { agentId: 'next', services: own });
    await api.patch(reference, { metadata: { finalizers: [] } });
    return next;
  })();
  await Promise.all([deleting, making]);
  const made = await get(cloud);
  assert.notEqual(made.metadata.uid, metadata.uid);
  assert.equal(holder(made), 'vm-next');
});

test('a Service that the CPI does not manage is not changed, and nothing remains of the VM', async (t) => {
  const { cloud, api } = await testCloud(t);
  await api.create(services, {
    metadata: { namespace, name: 'web' },
    spec: { ports: [{ port: 1 }] },
  });
  await assert.rejects(
    newVm(cloud, { agentId: 'one', services: shared }),
    rejection('VM_CREATION_FAILED', /Service 'web' exists in namespace bosh and is not managed by this CPI/u),
  );
  assert.deepEqual(await namesLeft(api), ['services web']);
});

test('a Service of another instance group is not changed', async (t) => {
  const { cloud, api } = await testCloud(t);
  await newVm(cloud, { agentId: 'one', services: shared });
  await assert.rejects(
    newVm(cloud, { agentId: 'two', services: shared, group: 'd-other' }),
    rejection('VM_CREATION_FAILED', /belongs to another instance group; give the Service another name/u),
  );
  assert.deepEqual(await namesLeft(api), ['pods vm-one', 'secrets vm-one', 'services web']);
});

test('a rejection of Kubernetes is reported with its message, and nothing remains', async (t) => {
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
