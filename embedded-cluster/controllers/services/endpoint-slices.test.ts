import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodStatus } from '../../../src/kubernetes/types/pod.ts';
import { endpointSlices, nodes, pods, services } from '../../../src/kubernetes/resources.ts';
import type { EndpointSlice, Service, ServiceSpec } from '../../../src/kubernetes/types/service.ts';
import { at, makePod, startCluster, type ClusterFixture } from '../testing/cluster-fixture.ts';

const makeService = (name: string, spec: Partial<ServiceSpec> = {}): Service => ({
  metadata: { name, namespace: 'bosh' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
});

async function runPod(
  cluster: ClusterFixture,
  name: string,
  podIP: string,
  changes: Partial<Pod['spec']> = {},
): Promise<void> {
  const { items } = await cluster.api.list(nodes, { fieldSelector: 'metadata.name=host' });
  if (items.length === 0) await cluster.api.create(nodes, { metadata: { name: 'host' } });
  const pod = makePod(name, { nodeName: 'host', ...changes });
  pod.metadata.labels = { app: 'web' };
  await cluster.api.create(pods, pod);
  await setStatus(cluster, name, {
    phase: 'Running',
    podIP,
    podIPs: [{ ip: podIP }],
    conditions: [ready('True')],
  });
}

const ready = (status: 'True' | 'False'): NonNullable<PodStatus['conditions']>[number] => ({
  type: 'Ready',
  status,
});

const setStatus = (cluster: ClusterFixture, name: string, status: PodStatus): Promise<unknown> =>
  cluster.api.patch(at(pods, name), { status }, { subresource: 'status' });

async function slices(cluster: ClusterFixture): Promise<EndpointSlice[]> {
  const { items } = await cluster.api.list<EndpointSlice>(endpointSlices, {
    labelSelector: 'kubernetes.io/service-name=web',
  });
  return items;
}

const addresses = (slice: EndpointSlice | undefined): string[] =>
  (slice?.endpoints ?? []).flatMap((endpoint) => endpoint.addresses);

/** Waits until the Service has exactly these addresses, all ready. */
const untilReady = (cluster: ClusterFixture, expected: readonly string[]): Promise<EndpointSlice> =>
  cluster.until(`endpoints ${expected.join(', ')}`, async () => {
    const [slice] = await slices(cluster);
    const isReady = (slice?.endpoints ?? []).filter(({ conditions }) => conditions?.ready === true);
    return isReady.flatMap((endpoint) => endpoint.addresses).join(',') === expected.join(',') && slice;
  });

test('a Service has the addresses of its running pods, and their ports', async (t) => {
  const cluster = await startCluster(t);
  await cluster.api.create(services, makeService('web'));
  await cluster.until('an empty slice', async () => (await slices(cluster)).length === 1);
  await runPod(cluster, 'one', '127.64.0.1');
  await runPod(cluster, 'two', '127.64.0.2');
  const slice = await untilReady(cluster, ['127.64.0.1', '127.64.0.2']);
  assert.deepEqual(slice.ports, [{ name: '', protocol: 'TCP', port: 8080 }]);
  assert.equal(slice.metadata.ownerReferences?.[0]?.name, 'web');
  assert.equal(slice.endpoints?.[0]?.targetRef?.name, 'one');
});

test('a pod that is not ready is listed as such, and a terminal, moved or deleted one is not listed', async (t) => {
  const cluster = await startCluster(t);
  await cluster.api.create(services, makeService('web'));
  for (const [name, address] of Object.entries({
    one: '127.64.0.1',
    two: '127.64.0.2',
    three: '127.64.0.3',
  })) {
    await runPod(cluster, name, address);
  }
  await untilReady(cluster, ['127.64.0.1', '127.64.0.3', '127.64.0.2']);
  await setStatus(cluster, 'one', { conditions: [ready('False')] });
  const slice = await untilReady(cluster, ['127.64.0.3', '127.64.0.2']);
  assert.deepEqual(addresses(slice), ['127.64.0.1', '127.64.0.3', '127.64.0.2']);
  await setStatus(cluster, 'three', { phase: 'Succeeded' });
  await untilReady(cluster, ['127.64.0.2']);
  await cluster.api.patch(at(pods, 'two'), { metadata: { labels: { app: 'other' } } });
  await untilReady(cluster, []);
  await cluster.api.patch(at(services, 'web'), { spec: { publishNotReadyAddresses: true } });
  await untilReady(cluster, ['127.64.0.1']);
  await cluster.api.delete(at(pods, 'one'), { gracePeriodSeconds: 0 });
  await untilReady(cluster, []);
});

test('a named target port is resolved in each pod, and pods with different ports are in separate slices', async (t) => {
  const cluster = await startCluster(t);
  await cluster.api.create(services, makeService('web', { ports: [{ port: 80, targetPort: 'http' }] }));
  const container = (containerPort: number): Pod['spec']['containers'][number] => ({
    name: 'bosh',
    image: 'embedded.bosh-kubernetes/host-root:1',
    ports: [{ name: 'http', containerPort }],
  });
  await runPod(cluster, 'one', '127.64.0.1', { containers: [container(8080)] });
  await runPod(cluster, 'two', '127.64.0.2', { containers: [container(9090)] });
  const found = await cluster.until('two slices', async () => {
    const all = await slices(cluster);
    return all.length === 2 && all;
  });
  assert.deepEqual(
    new Map(found.map((slice) => [addresses(slice).join(','), slice.ports?.[0]?.port])),
    new Map([
      ['127.64.0.1', 8080],
      ['127.64.0.2', 9090],
    ]),
  );
});

test('slices are deleted with their Service, also after a deletion while the controllers were down', async (t) => {
  const cluster = await startCluster(t);
  await cluster.api.create(services, makeService('web'));
  await runPod(cluster, 'one', '127.64.0.1');
  await untilReady(cluster, ['127.64.0.1']);
  await cluster.restart();
  await cluster.api.delete(at(services, 'web'));
  await cluster.until('no slice', async () => (await slices(cluster)).length === 0);
  assert.deepEqual(cluster.errors, []);
});

test('a slice has at most a hundred endpoints', async (t) => {
  const cluster = await startCluster(t);
  for (let number = 1; number <= 101; number += 1)
    await runPod(cluster, `pod-${number}`, `127.64.1.${number}`);
  await cluster.api.create(services, makeService('web'));
  const found = await cluster.until('two slices', async () => {
    const all = await slices(cluster);
    return all.length === 2 && all;
  });
  assert.deepEqual(
    found.map((slice) => addresses(slice).length).toSorted((one, other) => one - other),
    [1, 100],
  );
});
