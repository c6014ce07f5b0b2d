import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { services } from '../../kubernetes/resources.ts';
import type { Service, ServiceSpec } from '../../kubernetes/service.ts';
import type { CallContext } from '../cloud.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { createVmArguments, namespace, testCloud } from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { mergeSpec } from './carried-spec.ts';

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
  test(`what nobody asks for stays, as far as the type allows it: ${name}`, () => {
    assert.deepEqual(mergeSpec(before, now), { ...ofAll, ...kept, ...address, ...now });
  });
}

test('what is asked for wins over what is there', () => {
  const before = found('LoadBalancer', { ...ofBalancers, loadBalancerIP: '192.0.2.9' });
  const now = wanted('LoadBalancer', { loadBalancerClass: 'example.com/other', loadBalancerIP: '192.0.2.8' });
  const { loadBalancerClass, loadBalancerIP, selector } = mergeSpec(before, now);
  assert.deepEqual(
    [loadBalancerClass, loadBalancerIP, selector],
    [now.loadBalancerClass, '192.0.2.8', { a: 'new' }],
  );
});

test('another address is asked for: the former ones go', () => {
  const { clusterIP, clusterIPs } = mergeSpec(
    found('ClusterIP'),
    wanted('ClusterIP', { clusterIP: '10.0.0.1' }),
  );
  assert.deepEqual([clusterIP, clusterIPs], ['10.0.0.1', undefined]);
});

test('a port keeps its node port, and what else is not asked for, by its name', () => {
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

const member = (agentId: string, service: object): unknown[] =>
  createVmArguments({
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
  create: (resource, object, ...more) => {
    const isService = resource === services;
    const { spec } = object as unknown as Service;
    return api.create(
      resource,
      isService ? { ...object, spec: { ...spec, loadBalancerClass } } : object,
      ...more,
    );
  },
});

test('a Service whose class a webhook gave can be changed, and keeps the class', async (t) => {
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
test('ranges that others noted for a load balancer go where it is none any more', async (t) => {
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
