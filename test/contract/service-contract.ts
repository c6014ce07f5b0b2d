import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { services } from '../../src/kubernetes/resources.ts';
import type { Service, ServicePort, ServiceSpec } from '../../src/kubernetes/types/service.ts';
import type { Subject } from './subject.ts';

const port80: ServicePort[] = [{ port: 80 }];

/** Services: kubernetes pkg/registry/core/service, pkg/apis/core/validation ValidateService. */
export function serviceContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  before(async () => {
    subject = await makeSubject();
  });
  after(() => subject.end());

  const create = (name: string, spec: ServiceSpec): Promise<Service> =>
    subject.api.create<Service>(services, { metadata: { namespace: subject.namespace, name }, spec });
  const referenceTo = (name: string): { resource: typeof services; namespace: string; name: string } => ({
    resource: services,
    namespace: subject.namespace,
    name,
  });
  const isInvalid =
    (field: string, message: RegExp) =>
    (error: unknown): boolean => {
      assert(isApiError(error, 422, 'Invalid'), String(error));
      const cause = error.status.details?.causes?.find((each) => each.field === field);
      assert.match(cause?.message ?? `no cause for ${field} in: ${error.message}`, message);
      return true;
    };

  test('a new Service gets a cluster address, families and defaults', async () => {
    const { spec, status } = await create('plain', { ports: port80, selector: { app: 'a' } });
    assert.match(spec.clusterIP ?? '', /^\d+\.\d+\.\d+\.\d+$/u);
    assert.deepEqual(spec.clusterIPs, [spec.clusterIP]);
    assert.deepEqual(spec.ports, [{ port: 80, protocol: 'TCP', targetPort: 80 }]);
    assert.equal(spec.type, 'ClusterIP');
    assert.equal(spec.sessionAffinity, 'None');
    assert.equal(spec.internalTrafficPolicy, 'Cluster');
    assert.equal(spec.ipFamilyPolicy, 'SingleStack');
    assert.deepEqual(spec.ipFamilies, ['IPv4']);
    assert.deepEqual(status, { loadBalancer: {} });
  });

  test('addresses are assigned once, and a requested one in use is refused', async () => {
    const first = await create('first-address', { ports: port80 });
    const second = await create('second-address', { ports: port80 });
    assert.notEqual(first.spec.clusterIP, second.spec.clusterIP);
    const clusterIP = first.spec.clusterIP ?? '';
    await assert.rejects(
      create('third-address', { ports: port80, clusterIP }),
      isInvalid('spec.clusterIPs', /provided IP is already allocated/u),
    );
    await subject.api.delete(referenceTo('first-address'));
    const third = await create('third-address', { ports: port80, clusterIP });
    assert.equal(third.spec.clusterIP, clusterIP);
  });

  test('an address outside of the range is refused', async () => {
    await assert.rejects(
      create('outside', { ports: port80, clusterIP: '192.0.2.1' }),
      isInvalid('spec.clusterIPs', /the provided network does not match the current range/u),
    );
  });

  test('the cluster address cannot be changed, and a PUT without it keeps it', async () => {
    const made = await create('fixed', { ports: port80 });
    const moved = { spec: { clusterIP: '127.127.0.77', clusterIPs: ['127.127.0.77'] } };
    await assert.rejects(
      subject.api.patch(referenceTo('fixed'), moved),
      isInvalid('spec.clusterIPs[0]', /may not change once set/u),
    );
    const put = await subject.api.replace<Service>(services, {
      metadata: { ...made.metadata },
      spec: { ports: [{ port: 81 }] },
    });
    assert.equal(put.spec.clusterIP, made.spec.clusterIP);
  });

  test('NodePort gives each port a number of 30000-32767, and keeps it', async () => {
    const ports = [
      { name: 'a', port: 80 },
      { name: 'b', port: 81 },
    ];
    const made = await create('node-ports', { type: 'NodePort', ports });
    const given = (made.spec.ports ?? []).map(({ nodePort = 0 }) => nodePort);
    assert.equal(new Set(given).size, 2);
    assert(given.every((port) => port >= 30_000 && port <= 32_767));
    assert.equal(made.spec.externalTrafficPolicy, 'Cluster');
    const put = await subject.api.replace<Service>(services, {
      metadata: made.metadata,
      spec: { type: 'NodePort', ports, selector: { app: 'b' } },
    });
    assert.deepEqual(
      put.spec.ports?.map(({ nodePort }) => nodePort),
      given,
    );
  });

  // kubernetes: pkg/registry/core/service/storage/storage.go patchAllocatedValues
  test('a PUT without node ports keeps them by the names of the ports', async () => {
    const made = await create('named-ports', {
      type: 'NodePort',
      ports: [
        { name: 'a', port: 80 },
        { name: 'b', port: 81 },
      ],
    });
    const [a, b] = (made.spec.ports ?? []).map(({ nodePort }) => nodePort);
    const put = await subject.api.replace<Service>(services, {
      metadata: made.metadata,
      spec: {
        type: 'LoadBalancer',
        ports: [
          { name: 'b', port: 80 },
          { name: 'a', port: 8080 },
          { name: 'c', port: 81 },
        ],
      },
    });
    const [ofB, ofA, ofC] = (put.spec.ports ?? []).map(({ nodePort }) => nodePort);
    assert.deepEqual([ofB, ofA], [b, a]);
    assert.ok(ofC !== undefined && ofC !== a && ofC !== b);
  });

  test('a node port that is in use, out of range or of a ClusterIP Service is refused', async () => {
    const made = await create('holder', { type: 'NodePort', ports: port80 });
    const nodePort = made.spec.ports?.[0]?.nodePort ?? 0;
    await assert.rejects(
      create('contender', { type: 'NodePort', ports: [{ port: 80, nodePort }] }),
      isInvalid('spec.ports[0].nodePort', /provided port is already allocated/u),
    );
    await assert.rejects(
      create('contender', { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] }),
      isInvalid('spec.ports[0].nodePort', /provided port is not in the valid range.*30000-32767/u),
    );
    await assert.rejects(
      create('contender', { ports: [{ port: 80, nodePort }] }),
      isInvalid('spec.ports[0].nodePort', /may not be used when `type` is 'ClusterIP'/u),
    );
  });

  test('a change of type assigns node ports and releases them', async () => {
    await create('changing', { ports: port80 });
    const toNodePort = await subject.api.patch<Service>(referenceTo('changing'), {
      spec: { type: 'NodePort' },
    });
    assert.notEqual(toNodePort.spec.ports?.[0]?.nodePort, undefined);
    const back = await subject.api.patch<Service>(referenceTo('changing'), { spec: { type: 'ClusterIP' } });
    assert.equal(back.spec.ports?.[0]?.nodePort, undefined);
    assert.equal(back.spec.externalTrafficPolicy, undefined);
    assert.equal(back.spec.clusterIP, toNodePort.spec.clusterIP);
  });

  test('a headless Service has no address and may have no port', async () => {
    const made = await create('headless', { clusterIP: 'None', selector: { app: 'a' } });
    assert.equal(made.spec.clusterIP, 'None');
    assert.deepEqual(made.spec.clusterIPs, ['None']);
    await assert.rejects(
      create('headless-node-port', { clusterIP: 'None', type: 'NodePort', ports: port80 }),
      isInvalid('spec.clusterIPs[0]', /may not be set to 'None' for NodePort services/u),
    );
  });

  test('each invalid port has its own causes', async () => {
    await assert.rejects(create('no-ports', {}), isInvalid('spec.ports', /Required value/u));
    const nameless = [{ port: 80 }, { port: 81 }];
    await assert.rejects(
      create('nameless', { ports: nameless }),
      isInvalid('spec.ports[0].name', /Required/u),
    );
    const twice = [
      { name: 'a', port: 80 },
      { name: 'b', port: 80 },
    ];
    await assert.rejects(create('twice', { ports: twice }), isInvalid('spec.ports[1]', /Duplicate value/u));
    await assert.rejects(
      create('high', { ports: [{ port: 70_000 }] }),
      isInvalid('spec.ports[0].port', /must be between 1 and 65535, inclusive/u),
    );
    await assert.rejects(
      create('target', { ports: [{ port: 80, targetPort: 'a--b' }] }),
      isInvalid('spec.ports[0].targetPort', /must not contain consecutive hyphens/u),
    );
  });

  test('a name that is not a valid label is refused', async () => {
    await assert.rejects(
      create('-st', { ports: port80 }),
      isInvalid('metadata.name', /a lowercase RFC 1123 label must/u),
    );
  });

  test('a second IP family is refused in a single-stack cluster', async (t) => {
    const spec: ServiceSpec = { ports: port80, ipFamilyPolicy: 'PreferDualStack' };
    const preferred = await create('prefers-two', spec);
    if ((preferred.spec.ipFamilies ?? []).length > 1) return t.skip('this cluster is dual-stack');
    return assert.rejects(
      create('needs-two', { ...spec, ipFamilyPolicy: 'RequireDualStack' }),
      isInvalid('spec.ipFamilyPolicy', /not configured for dual-stack/u),
    );
  });
}
