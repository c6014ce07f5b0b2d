import assert from 'node:assert/strict';
import fc from 'fast-check';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isApiError } from '../../../../src/kubernetes/client/api-error.ts';
import { services } from '../../../../src/kubernetes/resources.ts';
import type { Service, ServiceSpec } from '../../../../src/kubernetes/types/service.ts';
import { openLocalApi } from '../../local-api.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { isServiceAddress, nodePortRange, pickFree, serviceRange } from './service-allocation.ts';
import { serviceKind } from './services.ts';

const ports = [{ port: 80 }];

const refused: readonly [string, Partial<ServiceSpec> & Record<string, unknown>, number, RegExp][] = [
  ['UDP', { ports: [{ port: 53, protocol: 'UDP' }] }, 422, /does not support UDP/u],
  ['session affinity', { sessionAffinity: 'ClientIP' }, 422, /does not support session affinity/u],
  ['external addresses', { externalIPs: ['192.0.2.1'] }, 422, /does not support external addresses/u],
  ['ExternalName', { type: 'ExternalName', externalName: 'a.example' }, 422, /it has no DNS/u],
  ['local traffic', { type: 'NodePort', externalTrafficPolicy: 'Local' }, 422, /it proxies/u],
  ['IPv6', { ipFamilies: ['IPv6'] }, 422, /not configured on this cluster/u],
  ['an IPv6 address', { clusterIP: 'fd00::1' }, 422, /IPv6 is not configured/u],
  ['a pod address', { clusterIP: '127.64.0.10' }, 422, /not match the current range/u],
  ["a load balancer's field", { loadBalancerIP: '192.0.2.1' }, 422, /LoadBalancer/u],
  ['a field that nobody reads', { trafficDistribution: 'PreferClose' }, 400, /trafficDistribution/u],
];

for (const [name, spec, code, message] of refused) {
  test(`a Service with an unsupported field is refused: ${name}`, async (t) => {
    const api = await localApi(t);
    await assert.rejects(
      api.create(services, service('a', spec)),
      (error) => isApiError(error, code) && message.test(error.message),
    );
  });
}

test('a load balancer stays pending, with node ports, as in a cluster without a provider', async (t) => {
  const api = await localApi(t);
  const made = await api.create<Service>(
    services,
    service('lb', { type: 'LoadBalancer', loadBalancerIP: '192.0.2.1' }),
  );
  assert.notEqual(made.spec.ports?.[0]?.nodePort, undefined);
  assert.deepEqual(made.status, { loadBalancer: {} });
  assert.equal(cell(made, 'External-IP'), '<pending>');
  const { metadata } = made;
  await api.patch(
    { resource: services, namespace: 'bosh', name: 'lb' },
    { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } },
    { subresource: 'status' },
  );
  const given = await api.get<Service>({ resource: services, namespace: 'bosh', name: metadata.name });
  assert.equal(cell(given, 'External-IP'), '192.0.2.1');
});

test('kubectl shows ports with their node ports, and selectors', async (t) => {
  const api = await localApi(t);
  const made = await api.create<Service>(
    services,
    service('a', {
      type: 'NodePort',
      selector: { b: '2', a: '1' },
      ports: [
        { name: 'x', port: 80, nodePort: 30_080 },
        { name: 'y', port: 443, nodePort: 30_443 },
      ],
    }),
  );
  assert.equal(cell(made, 'Port(s)'), '80:30080/TCP,443:30443/TCP');
  assert.equal(cell(made, 'Selector'), 'a=1,b=2');
  assert.equal(cell(made, 'External-IP'), '<none>');
});

test('allocation finds every free number, in the upper band first', () => {
  const band = { first: 100, size: 40, staticBandSize: 10 };
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 100, max: 139 })), fc.nat(), (taken, start) => {
      const picked = pickFree(band, (number) => taken.includes(number), start);
      // Neither the first nor the last number is an address.
      const free = Array.from({ length: 38 }, (_, index) => 101 + index).filter((n) => !taken.includes(n));
      if (picked === undefined) assert.deepEqual(free, []);
      else {
        assert(free.includes(picked));
        if (free.some((number) => number >= 110)) assert(picked >= 110);
      }
    }),
  );
});

test('the address range of Services is disjoint from that of pods', () => {
  assert.equal(isServiceAddress('127.127.0.0'), false);
  assert.equal(isServiceAddress('127.127.0.1'), true);
  assert.equal(isServiceAddress('127.127.255.255'), false);
  assert.equal(isServiceAddress('127.126.255.255'), false);
  assert.equal(serviceRange.first, 127 * 2 ** 24 + 127 * 2 ** 16);
  assert.equal(nodePortRange.first + nodePortRange.size - 1, 32_767);
});

function service(name: string, spec: Partial<ServiceSpec>): Service {
  return { metadata: { namespace: 'bosh', name }, spec: { ports, ...spec } };
}

function cell(object: Service, name: string): unknown {
  return (serviceKind.columns ?? [])
    .find((column) => column.name === name)
    ?.cell(object as unknown as StoredObject, Date.now());
}

async function localApi(t: {
  after(end: () => Promise<void>): void;
}): Promise<Awaited<ReturnType<typeof openLocalApi>>> {
  const directory = await mkdtemp(join(tmpdir(), 'services-'));
  const api = await openLocalApi({ directory });
  t.after(async () => {
    await api.close();
    await rm(directory, { recursive: true });
  });
  return api;
}
