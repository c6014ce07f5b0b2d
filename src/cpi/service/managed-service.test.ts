import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { services } from '../../kubernetes/resources.ts';
import type { Service, ServiceSpec } from '../../kubernetes/types/service.ts';
import type { CallContext } from '../call.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { createVmRequest, namespace, testCloud } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { mergeSpec } from './managed-service.ts';
import { isProductError } from '../../errors/product-error.ts';
import { annotation } from '../objects/labels.ts';
import { sha256 } from '../objects/names.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';

type Type = NonNullable<ServiceSpec['type']>;
const http = { name: 'http', protocol: 'TCP', port: 80, targetPort: 80 };
const wanted = (type: Type, more: ServiceSpec = {}): ServiceSpec => ({
  ...{ type, ports: [http], selector: { a: 'new' } },
  ...more,
});

/** Fields that other writers may have set on a Service of any type. */
const ofAll = {
  internalTrafficPolicy: 'Local',
  publishNotReadyAddresses: true,
  sessionAffinity: 'ClientIP',
  sessionAffinityConfig: { clientIP: { timeoutSeconds: 7 } },
  trafficDistribution: 'PreferSameNode',
};
/** Fields of a Service that is reachable from outside the cluster. */
const ofOutside = { externalTrafficPolicy: 'Local' };
const ofBalancers = {
  allocateLoadBalancerNodePorts: false,
  loadBalancerClass: 'example.com/class',
  loadBalancerSourceRanges: ['192.0.2.0/24'],
};
const healthCheck = { healthCheckNodePort: 30_900 };
const address = { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'] };

const found = (type: Type, more: object = {}): ServiceSpec => ({
  ...{ type, ports: [{ name: 'http', protocol: 'TCP', port: 1, targetPort: 2 }], selector: { a: 'old' } },
  ...{ ...address, ...ofAll, ...more },
});

// sources: kubernetes pkg/apis/core/validation validateService, pkg/registry/core/service strategy.go
// dropTypeDependentFields
const balanced = { ...ofOutside, ...ofBalancers, ...healthCheck };
const changes: readonly [string, ServiceSpec, ServiceSpec, object][] = [
  ['a load balancer stays one', found('LoadBalancer', balanced), wanted('LoadBalancer'), balanced],
  ['it becomes a NodePort', found('LoadBalancer', balanced), wanted('NodePort'), ofOutside],
  ['it becomes a ClusterIP', found('LoadBalancer', balanced), wanted('ClusterIP'), {}],
  [
    'it becomes a ClusterIP with addresses from outside',
    found('LoadBalancer', balanced),
    wanted('ClusterIP', { externalIPs: ['192.0.2.1'] }),
    ofOutside,
  ],
  ['a NodePort becomes a load balancer', found('NodePort', ofOutside), wanted('LoadBalancer'), ofOutside],
  [
    'a ClusterIP loses its addresses from outside',
    found('ClusterIP', { ...ofOutside, externalIPs: ['192.0.2.1'] }),
    wanted('ClusterIP'),
    {},
  ],
  [
    'a name becomes an address',
    found('ExternalName', { externalName: 'a.example' }),
    wanted('ClusterIP'),
    {},
  ],
  [
    'an address for the balancer that is asked for no more goes',
    found('LoadBalancer', { ...balanced, loadBalancerIP: '192.0.2.9' }),
    wanted('LoadBalancer'),
    balanced,
  ],
];
for (const [name, before, now, kept] of changes) {
  test(`fields that are not requested stay if the type allows them: ${name}`, () => {
    assert.deepEqual(mergeSpec(before, now), { ...ofAll, ...kept, ...address, ...now });
  });
}

test('the requested values win over the existing ones', () => {
  const before = found('LoadBalancer', { ...ofBalancers, loadBalancerIP: '192.0.2.9' });
  const now = wanted('LoadBalancer', { loadBalancerClass: 'example.com/other', loadBalancerIP: '192.0.2.8' });
  const { loadBalancerClass, loadBalancerIP, selector } = mergeSpec(before, now);
  assert.deepEqual(
    [loadBalancerClass, loadBalancerIP, selector],
    [now.loadBalancerClass, '192.0.2.8', { a: 'new' }],
  );
});

test('another address is requested: the previous ones are removed', () => {
  const { clusterIP, clusterIPs } = mergeSpec(
    found('ClusterIP'),
    wanted('ClusterIP', { clusterIP: '10.0.0.1' }),
  );
  assert.deepEqual([clusterIP, clusterIPs], ['10.0.0.1', undefined]);
});

test('a port keeps its node port and other fields that are not requested, by its name', () => {
  const given = { appProtocol: 'h2c', nodePort: 30_001 };
  const before = (type: Type): ServiceSpec => ({
    type,
    ports: [
      { ...http, port: 8080, ...given },
      { ...http, name: 'dns', protocol: 'UDP', nodePort: 30_002 },
      { ...http, name: 'gone', nodePort: 30_003 },
    ],
  });
  const ports = [http, { ...http, name: 'dns', port: 53 }, { ...http, name: 'new', port: 82 }];
  const after = (from: Type, to: Type): unknown => mergeSpec(before(from), wanted(to, { ports })).ports;
  const [, ...others] = ports;
  assert.deepEqual(after('NodePort', 'NodePort'), [{ ...http, ...given }, ...others]);
  assert.deepEqual(after('NodePort', 'LoadBalancer'), [{ ...http, ...given }, ...others]);
  assert.deepEqual(after('NodePort', 'ClusterIP'), [{ ...http, appProtocol: 'h2c' }, ...others]);
  const asked = [http, { ...http, name: 'other', port: 81, nodePort: 30_001 }];
  assert.deepEqual(mergeSpec(before('NodePort'), wanted('NodePort', { ports: asked })).ports, [
    { ...http, appProtocol: 'h2c' },
    asked[1],
  ]);
});

const member = (agentId: string, service: object): CreateVmRequest =>
  createVmRequest({
    agentId,
    networks: { default: { type: 'dynamic' } },
    properties: { services: [{ name: 'web', ...service }] },
    env: { bosh: { group: 'd-web' } },
  });
const serviceOf = ({ api }: CallContext): Promise<Service> =>
  api.get<Service>({ resource: services, namespace, name: 'web' });

/**
 * Sets the class as a webhook does on each new load balancer (aws-load-balancer-controller,
 * mservice.elbv2.k8s.aws).
 */
const withClass = (api: KubernetesApi, loadBalancerClass: string): KubernetesApi => ({
  ...interceptingApi(api, () => Promise.resolve()),
  create: (resource, object) => {
    const isService = resource === services;
    const { spec } = object as unknown as Service;
    return api.create(resource, isService ? { ...object, spec: { ...spec, loadBalancerClass } } : object);
  },
});

test('a Service whose class a webhook set can be changed, and keeps the class', async (t) => {
  const { cloud } = await testCloud(t);
  const hooked = { ...cloud, api: withClass(cloud.api, 'service.k8s.aws/nlb') };
  const balancer = (...ports: object[]): object => ({ type: 'LoadBalancer', ports });
  await createVm(hooked, member('one', balancer({ name: 'http', port: 80 })));
  const [before] = (await serviceOf(cloud)).spec.ports ?? [];
  await createVm(hooked, member('two', balancer({ name: 'tls', port: 443 }, { name: 'http', port: 81 })));
  const { spec } = await serviceOf(cloud);
  assert.equal(spec.loadBalancerClass, 'service.k8s.aws/nlb');
  assert.equal(spec.ports?.[1]?.nodePort, before?.nodePort);
  assert.notEqual(before?.nodePort, undefined);
});

// kubernetes pkg/apis/core/validation validateService refuses the annotation then, as it does the field
test('source ranges that others set for a load balancer are removed when the Service is none anymore', async (t) => {
  const { cloud } = await testCloud(t);
  const key = 'service.beta.kubernetes.io/load-balancer-source-ranges';
  await createVm(cloud, member('one', { type: 'LoadBalancer', ports: [{ port: 80 }] }));
  const annotations = { [key]: '192.0.2.0/24', 'example.com/a': 'b' };
  await cloud.api.patch({ resource: services, namespace, name: 'web' }, { metadata: { annotations } });
  await createVm(cloud, member('two', { type: 'LoadBalancer', ports: [{ port: 81 }] }));
  assert.equal((await serviceOf(cloud)).metadata.annotations?.[key], '192.0.2.0/24');
  await createVm(cloud, member('three', { ports: [{ port: 81 }] }));
  const left = (await serviceOf(cloud)).metadata.annotations ?? {};
  assert.deepEqual([left[key], left['example.com/a']], [undefined, 'b']);
});

const ports = [{ port: 443, target_port: 8443 }];
const vm = (cloud: CallContext, more: object, name = 'web'): Promise<unknown> =>
  createVm(
    cloud,
    createVmRequest({
      agentId: 'one',
      properties: { services: [{ name, selector: 'vm', ports, ...more }] },
      networks: { default: { type: 'dynamic' } },
      env: { bosh: { group: 'd-web' } },
    }),
  );

/**
 * Returns an API that shows each Service with the fields `given`, and records each replaced spec: the
 * embedded cluster has no Services of two families.
 */
function dualStack(api: KubernetesApi, given: ServiceSpec): { api: KubernetesApi; replaced: ServiceSpec[] } {
  const replaced: ServiceSpec[] = [];
  return {
    replaced,
    api: {
      ...interceptingApi(api, () => Promise.resolve()),
      get: async (reference) => {
        const object = await api.get(reference);
        if (reference.resource !== services) return object as never;
        const { spec } = object as Service;
        return { ...object, spec: { ...spec, ...given } } as never;
      },
      replace: (_, object) => {
        replaced.push((object as unknown as Service).spec);
        return Promise.resolve(object as never);
      },
    },
  };
}

const both = {
  ...{ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' },
  ...{ clusterIP: '127.127.0.9', clusterIPs: ['127.127.0.9', 'fd00::9'] },
};
for (const addresses of [
  { cluster_ip: '127.127.0.9' },
  { external_ips: ['192.0.2.20'] },
  { external_ips: ['2001:db8::7'] },
  { external_ips: ['192.0.2.20', '2001:db8::7'] },
  {},
]) {
  test(`a Service with a second family of another writer keeps it and its addresses: ${JSON.stringify(addresses)}`, async (t) => {
    const { cloud } = await testCloud(t);
    await vm(cloud, { cluster_ip: '127.127.0.9' });
    const { api, replaced } = dualStack(cloud.api, both);
    const changed = [{ port: 444, target_port: 8443 }];
    await vm({ ...cloud, api }, { ...addresses, ports: changed });
    const kept = replaced.map(({ ipFamilies, ipFamilyPolicy, clusterIP, clusterIPs }) => ({
      ...{ ipFamilies, ipFamilyPolicy, clusterIP, clusterIPs },
    }));
    assert.deepEqual(kept, [both]);
  });
}

test('a second family that the Service does not have is requested', async (t) => {
  const { cloud } = await testCloud(t);
  await vm(cloud, {});
  const { api, replaced } = dualStack(cloud.api, {});
  await vm({ ...cloud, api }, { external_ips: ['192.0.2.20', '2001:db8::7'] });
  assert.deepEqual(
    replaced.map(({ ipFamilies, ipFamilyPolicy }) => [ipFamilies, ipFamilyPolicy]),
    [[['IPv4'], 'RequireDualStack']],
  );
});

test('a Service that was created before the CPI requested families is not changed', async (t) => {
  const { cloud } = await testCloud(t);
  const given = { cluster_ip: '127.127.0.9' };
  await vm(cloud, given);
  const reference = { resource: services, namespace, name: 'web' };
  const spec = {
    ...{ type: 'ClusterIP', clusterIP: '127.127.0.9' },
    ports: [{ protocol: 'TCP', port: 443, targetPort: 8443 }],
  };
  const digest = sha256(JSON.stringify([spec, {}, 'vm']));
  await cloud.api.patch(reference, { metadata: { annotations: { [annotation.specDigest]: digest } } });
  const before = await cloud.api.get(reference);
  await vm(cloud, given);
  assert.deepEqual(await cloud.api.get(reference), before);
});

test('a Service of another family than its address is an error with the remedy', async (t) => {
  const { cloud } = await testCloud(t);
  await vm(cloud, {});
  await assert.rejects(vm(cloud, { external_ips: ['2001:db8::7'] }), (error: unknown) => {
    assert.ok(isProductError(error, 'VM_CREATION_FAILED'), String(error));
    assert.match(
      error.message,
      /family IPv4, and the VM requests an address of IPv6\. .*delete service web\)/u,
    );
    return true;
  });
});
