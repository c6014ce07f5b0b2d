import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { openApi, type RestApi } from '../../src/kubernetes/client/rest-api.ts';
import { endpointSlices, pods, roleBindings, roles, services } from '../../src/kubernetes/resources.ts';
import { serviceNameLabel, type EndpointSlice, type Service } from '../../src/kubernetes/types/service.ts';
import { openTunnel, tunnelCases, type TunnelWorld } from '../../src/tunnel/testing/tunnel-cases.ts';
import { readManifest } from '../cpi/roles-world.ts';
import { network } from './network.ts';
import { PodWorld } from './pod-world.ts';
import { testCluster, withoutNodes } from './test-cluster.ts';

/** Outside of the addresses of pods that request none. */
const absent = '10.77.200.99';
const operator = 'tunnel-operator';
const labels = { app: 'director' };

/** The page is only on the pod's loopback address, which is reachable only through the tunnel. */
const script = `
nc -ll -p 25555 -e echo the director &
nc -ll -p 26 -e sh -c 'echo begun; sleep 86400' &
mkdir /www
echo page >/www/index.html
dd if=/dev/urandom of=/www/large bs=1M count=16
sha256sum </www/large >/www/digest
httpd -f -h /www -p 127.0.0.1:8080`;

describe('a tunnel into a real cluster, with the rights of manifests/rbac/tunnel.yaml', withoutNodes, () => {
  let cluster: PodWorld;
  let api: RestApi;
  let world: TunnelWorld;

  before(async () => {
    cluster = await PodWorld.open();
    const { namespace } = cluster;
    await cluster.pod('vm-1', { script });
    await cluster.api.patch({ resource: pods, namespace, name: 'vm-1' }, { metadata: { labels } });
    const service = await cluster.api.create<Service>(services, {
      metadata: { name: 'director', namespace },
      spec: { selector: labels, ports: [{ name: 'https', port: 443, targetPort: 25555 }] },
    });
    await grantTunnel(cluster);
    const { status } = await cluster.ready('vm-1');
    await cluster.eventually(async () => {
      const labelSelector = `${serviceNameLabel}=director`;
      const { items } = await cluster.api.list<EndpointSlice>(endpointSlices, { namespace, labelSelector });
      return items.flatMap(({ endpoints }) => endpoints ?? []).find(({ conditions }) => conditions?.ready);
    });
    await cluster.eventually(async () => {
      const sockets = await cluster.run('vm-1', 'cat /proc/net/tcp /proc/net/tcp6');
      // The ports 25555, 26 and 8080.
      return ['63D3', '001A', '1F90'].every((port) => sockets.includes(`:${port} `)) ? true : undefined;
    });
    const access = { ...cluster.access, impersonation: { 'impersonate-user': operator } };
    api = await openApi(access);
    world = {
      ...{ access, api, namespace, networks: [network.subnet], absent },
      pod: { name: 'vm-1', address: status?.podIP ?? '' },
      service: { name: 'director', address: service.spec.clusterIP ?? '' },
      restartApi: () => testCluster().controlPlane.restartApiServer(),
    };
  });
  after(async () => {
    api.close();
    await cluster.close();
  });

  for (const { name, run } of tunnelCases) test(name, withoutNodes, (t) => run(t, world));

  test('curl fetches whole files through it, by name and by address', withoutNodes, async (t) => {
    const { port } = await openTunnel(t, world);
    const { pod, namespace } = world;
    const fetched = async (proxy: string, url: string): Promise<string> => {
      const curl = `curl -sSf ${proxy} 127.0.0.1:${port} ${url} | sha256sum`;
      return (await promisify(execFile)('sh', ['-c', curl])).stdout;
    };
    const digest = await cluster.run('vm-1', 'cat /www/digest');
    const file = 'large';
    assert.equal(
      await fetched('--socks5-hostname', `http://${pod.name}.${namespace}.pod:8080/${file}`),
      digest,
    );
    assert.equal(await fetched('--socks5', `http://${pod.address}:8080/${file}`), digest);
  });

  test('without the role the API says what is missing', withoutNodes, async (t) => {
    const access = { ...cluster.access, impersonation: { 'impersonate-user': 'nobody' } };
    const other = await openApi(access);
    t.after(() => other.close());
    const { open, log } = await openTunnel(t, { ...world, access, api: other });
    await assert.rejects(open(world.pod.address, 25555), /could not connect/);
    assert.match(log.join('\n'), /User "nobody" cannot list resource "pods"/);
  });
});

async function grantTunnel({ api, namespace }: PodWorld): Promise<void> {
  const [role] = readManifest('tunnel');
  assert.ok(role);
  await api.create(roles, { ...role, metadata: { ...role.metadata, namespace } });
  await api.create(roleBindings, {
    metadata: { name: 'tunnel', namespace },
    ...{ roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role.metadata.name } },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: operator }],
  });
}
