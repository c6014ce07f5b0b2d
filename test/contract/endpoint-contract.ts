import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { PodStatus } from '../../src/kubernetes/types/pod.ts';
import { endpointSlices, pods, services } from '../../src/kubernetes/resources.ts';
import {
  serviceNameLabel,
  type Endpoint,
  type EndpointSlice,
  type ServiceSpec,
} from '../../src/kubernetes/types/service.ts';
import { unschedulablePod } from './contract-objects.ts';
import { ContractNodes } from './node-objects.ts';
import type { Subject } from './subject.ts';
import { until } from '../support/until.ts';

/**
 * EndpointSlices (kubernetes pkg/controller/endpointslice, pkg/apis/discovery/validation). Pods are on a node
 * without a kubelet, so that only the tests set their status.
 */
export function endpointContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  let world: ContractNodes;
  before(async () => {
    subject = await makeSubject();
    world = new ContractNodes(subject.api, subject.namespace);
  });
  after(async () => {
    await world.end();
    await subject.end();
  });

  const slicesOf = async (service: string): Promise<EndpointSlice[]> => {
    const { api, namespace } = subject;
    const labelSelector = `${serviceNameLabel}=${service}`;
    return (await api.list<EndpointSlice>(endpointSlices, { namespace, labelSelector })).items;
  };
  const makeService = (name: string, spec: Partial<ServiceSpec> = {}): Promise<unknown> =>
    subject.api.create(services, {
      metadata: { namespace: subject.namespace, name },
      spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
    } as never);
  const setStatus = (name: string, status: PodStatus): Promise<unknown> =>
    subject.api.patch(
      { resource: pods, namespace: subject.namespace, name },
      { status },
      { subresource: 'status' },
    );
  const runPod = async (name: string, app: string, podIP: string): Promise<void> => {
    // a separate node, younger than the time after which a silent node is unreachable
    const nodeName = await world.addNode('endpoints', name);
    await world.addPod('endpoints', name, { nodeName }, { app });
    await setStatus(name, { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions: [ready('True')] });
  };
  const ready = (status: 'True' | 'False'): NonNullable<PodStatus['conditions']>[number] => ({
    type: 'Ready',
    status,
  });
  const endpointAt = (service: string, address: string, isReady: boolean): Promise<Endpoint> =>
    until(`${address} behind ${service}, ready: ${isReady}`, async () => {
      const all = (await slicesOf(service)).flatMap(({ endpoints }) => endpoints ?? []);
      return all.find(
        ({ addresses, conditions }) => addresses[0] === address && conditions?.ready === isReady,
      );
    });

  test('a Service has a slice with the ports of its pods and their addresses', async () => {
    await makeService('web');
    await runPod('web-1', 'web', '192.0.2.1');
    const endpoint = await endpointAt('web', '192.0.2.1', true);
    assert.deepEqual(endpoint.conditions, { ready: true, serving: true, terminating: false });
    assert.equal(endpoint.targetRef?.name, 'web-1');
    const [slice] = await slicesOf('web');
    assert.equal(slice?.addressType, 'IPv4');
    assert.deepEqual(slice?.ports, [{ name: '', protocol: 'TCP', port: 8080 }]);
    assert.equal(
      slice?.metadata.labels?.['endpointslice.kubernetes.io/managed-by'],
      'endpointslice-controller.k8s.io',
    );
    const [owner] = slice?.metadata.ownerReferences ?? [];
    assert.deepEqual([owner?.kind, owner?.name, owner?.controller], ['Service', 'web', true]);
  });

  test('a pod that is not ready is not a ready endpoint, unless the Service publishes such pods', async () => {
    await makeService('slow');
    await runPod('slow-1', 'slow', '192.0.2.11');
    await endpointAt('slow', '192.0.2.11', true);
    await setStatus('slow-1', { conditions: [ready('False')] });
    await endpointAt('slow', '192.0.2.11', false);
    const reference = { resource: services, namespace: subject.namespace, name: 'slow' };
    await subject.api.patch(reference, { spec: { publishNotReadyAddresses: true } });
    await endpointAt('slow', '192.0.2.11', true);
  });

  test('a terminal pod and a pod that the selector does not match are not endpoints', async () => {
    await makeService('two');
    await runPod('two-1', 'two', '192.0.2.21');
    await runPod('two-2', 'two', '192.0.2.22');
    await runPod('three-1', 'three', '192.0.2.23');
    await endpointAt('two', '192.0.2.21', true);
    await endpointAt('two', '192.0.2.22', true);
    // sets the condition as kubelet does: upstream's controller ignores a change of only the phase
    await setStatus('two-1', { phase: 'Succeeded', conditions: [ready('False')] });
    const slice = await until('one endpoint', async () => {
      const all = (await slicesOf('two')).flatMap(({ endpoints }) => endpoints ?? []);
      return all.length === 1 ? all : undefined;
    });
    assert.deepEqual(slice[0]?.addresses, ['192.0.2.22']);
  });

  test('a pod without a node is an endpoint only of a Service with publishNotReadyAddresses', async () => {
    const { api, namespace } = subject;
    await makeService('homeless');
    await api.create(pods, unschedulablePod(namespace, 'homeless-1', { labels: { app: 'homeless' } }));
    const podIP = '192.0.2.41';
    await setStatus('homeless-1', { phase: 'Running', podIP, podIPs: [{ ip: podIP }] });
    await runPod('homeless-2', 'homeless', '192.0.2.42');
    await endpointAt('homeless', '192.0.2.42', true);
    const [slice] = await slicesOf('homeless');
    assert.deepEqual(
      slice?.endpoints?.map(({ addresses }) => addresses),
      [['192.0.2.42']],
    );
    const reference = { resource: services, namespace, name: 'homeless' };
    await api.patch(reference, { spec: { publishNotReadyAddresses: true } });
    await endpointAt('homeless', podIP, true);
  });

  test('a Service without a selector gets no slice, and slices are deleted with their Service', async () => {
    const { api, namespace } = subject;
    await makeService('bare', { selector: {} });
    await makeService('going');
    const slice = await until('a slice', async () => (await slicesOf('going'))[0]);
    assert.deepEqual([slice.endpoints, slice.ports], [null, null]);
    assert.deepEqual(await slicesOf('bare'), []);
    await api.delete({ resource: services, namespace, name: 'going' });
    await until('no slice', async () => ((await slicesOf('going')).length === 0 ? true : undefined));
  });

  test('the address type of a slice cannot change, and its addresses are of that type', async () => {
    const { api, namespace } = subject;
    const slice = (name: string, address: string): EndpointSlice => ({
      metadata: { namespace, name },
      addressType: 'IPv4',
      endpoints: [{ addresses: [address] }],
    });
    const own = await api.create<EndpointSlice>(endpointSlices, slice('own', '192.0.2.31'));
    assert.equal(own.ports, null);
    const invalid = (error: unknown): boolean => isApiError(error, 422, 'Invalid');
    await assert.rejects(
      api.patch({ resource: endpointSlices, namespace, name: 'own' }, { addressType: 'IPv6' }),
      invalid,
    );
    await assert.rejects(api.create(endpointSlices, slice('other', 'fd00::1')), invalid);
  });
}
