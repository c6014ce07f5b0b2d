import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventRecord } from '../../kubernetes/describe-pod.ts';
import { events, services } from '../../kubernetes/resources.ts';
import type { Service } from '../../kubernetes/types/service.ts';
import type { CallContext } from '../call.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { createVmRequest, namesLeft, namespace, testCloud } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';
import { rejection } from '../testing/rejection.ts';

async function newVm(
  cloud: CallContext,
  { agentId, networks }: { agentId: string; networks: object },
): Promise<string> {
  const [cid] = await createVm(
    cloud,
    createVmRequest({ agentId, networks, env: { bosh: { group: 'd-web' } } }),
  );
  return cid;
}

const get = (cloud: CallContext, name: string): Promise<Service> =>
  cloud.api.get<Service>({ resource: services, namespace, name });
const holder = ({ spec }: Service): string | undefined => spec.selector?.['bosh.cloudfoundry.org/vm-id'];

const vip = (via: string, ip = '127.127.0.50'): object => ({
  default: { type: 'dynamic' },
  public: {
    type: 'vip',
    ip,
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
  await deleteVm(cloud, { vmCid: former });
  assert.equal(holder(await get(cloud, 'vip-127-127-0-50')), next);
  await deleteVm(cloud, { vmCid: next });
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

test('a repeated create_vm does not change the Service of its vip', async (t) => {
  const { cloud } = await testCloud(t);
  const cid = await newVm(cloud, { agentId: 'one', networks: vip('cluster_ip') });
  const made = await get(cloud, 'vip-127-127-0-50');
  assert.deepEqual([made.spec.ipFamilies, made.spec.ipFamilyPolicy], [['IPv4'], 'SingleStack']);
  assert.equal(await newVm(cloud, { agentId: 'one', networks: vip('cluster_ip') }), cid);
  assert.deepEqual(await get(cloud, 'vip-127-127-0-50'), made);
});

test('a vip of a family that the cluster does not have is rejected before the pod is created, and nothing remains', async (t) => {
  const { cloud, api } = await testCloud(t);
  let asked = 0;
  const counted = interceptingApi(api, async (request) => {
    if (request.startsWith('create pods')) asked += 1;
    return Promise.resolve();
  });
  await assert.rejects(
    newVm({ ...cloud, api: counted }, { agentId: 'one', networks: vip('load_balancer', '2001:db8::7') }),
    rejection(
      'VM_CREATION_FAILED',
      /"IPv6": not configured on this cluster; correct this value in the cloud_properties/u,
    ),
  );
  assert.equal(asked, 0);
  assert.deepEqual(await namesLeft(api), []);
});

for (const [name, message, said] of [
  [
    'nobody says a word of',
    undefined,
    /last known: no load balancer has assigned an address; check that this cluster/u,
  ],
  [
    'whose controller cannot',
    'quota of addresses',
    /last known: events: .*quota of addresses; no load balancer has assigned/u,
  ],
] as const) {
  test(`a vip without a load balancer, ${name}: DEADLINE with the reason, and nothing remains`, async (t) => {
    const { cloud, api } = await testCloud(t, { deadlines: { create_vm: 1, delete_vm: 5 } });
    if (message !== undefined) {
      await api.create<EventRecord>(events, {
        metadata: { name: 'vip-127-127-0-50.1', namespace },
        involvedObject: { kind: 'Service', namespace, name: 'vip-127-127-0-50' },
        reason: 'SyncLoadBalancerFailed',
        message,
      });
    }
    await assert.rejects(
      newVm(cloud, { agentId: 'one', networks: vip('load_balancer') }),
      rejection('VM_CREATION_FAILED_RETRY', said),
    );
    assert.deepEqual(await namesLeft(api), []);
  });
}
