import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Node } from '../../src/kubernetes/types/node.ts';
import { openTransport } from '../../src/kubernetes/client/open-transport.ts';
import { resourcePath, nodes, pods } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { awaitNodes } from './await-nodes.ts';
import { nodePlans } from './network.ts';
import { PodWorld } from './pod-world.ts';
import { testCluster, withoutNodes } from './test-cluster.ts';

describe('a real cluster of plain processes', withoutNodes, () => {
  let world: PodWorld;
  before(async () => {
    world = await PodWorld.open();
    for (const { name } of nodePlans) {
      await world.pod(name, {
        script: 'echo hello from $HOSTNAME; mkdir /www; echo $HOSTNAME >/www/name; httpd -f -h /www -p 8080',
        spec: { nodeName: name },
      });
    }
    for (const { name } of nodePlans) await world.ready(name);
  });
  after(() => world.close());

  test('has two nodes that are Ready, each in a zone of its own', async () => {
    const { items } = await world.api.list<Node>(nodes);
    const zones = items.map(({ metadata }) => metadata.labels?.['topology.kubernetes.io/zone']);
    assert.deepEqual(
      zones.toSorted((a = '', b = '') => a.localeCompare(b)),
      ['z1', 'z2'],
    );
    await awaitNodes(world.api, nodePlans);
  });

  test('runs a pod on each that reach each other, and gives their logs', async () => {
    const [one, two] = ['node-1', 'node-2'];
    const address = async (name: string): Promise<string> => (await world.ready(name)).status?.podIP ?? '';
    for (const [from, to] of [
      [one, two],
      [two, one],
    ] as const) {
      const url = `http://${await address(to)}:8080/name`;
      assert.equal((await world.run(from, `wget -q -O - ${url}`)).trim(), to);
      assert.match(await logOf(world, from), /^hello from node-/);
    }
  });

  test('gives a pod the API server at the address of its Service', async () => {
    // BusyBox supports no cipher of the server. It is enough that the server requires HTTPS.
    const request = String.raw`printf 'GET / HTTP/1.0\r\n\r\n'`;
    const service = '$KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT';
    assert.match(await world.run('node-1', `${request} | nc ${service}`), /HTTP request to an HTTPS server/);
  });

  test('brings a node back after a power cut: pods run again', async () => {
    const cluster = testCluster();
    const node = cluster.node('node-2');
    const previous = await world.ready('node-2');
    await node.restart(cluster.controlPlane.machine);
    const again = await world.until<typeof previous, typeof previous>(pods, 'node-2', (pod) => {
      const restarts = pod?.status?.containerStatuses?.[0]?.restartCount ?? 0;
      const ready = pod?.status?.conditions?.find(({ type }) => type === 'Ready');
      return restarts > 0 && ready?.status === 'True' ? pod : undefined;
    });
    assert.equal(again.metadata.uid, previous.metadata.uid);
    await awaitNodes(world.api, nodePlans);
    assert.equal((await world.run('node-2', 'cat /www/name')).trim(), 'node-2');
  });

  test('works after a kubelet or a containerd was started again', async () => {
    const node = testCluster().node('node-1');
    await node.restartContainerd();
    await node.restartKubelet();
    await until('a command in the pod', async () => {
      try {
        return (await world.run('node-1', 'cat /www/name')).trim() === 'node-1';
      } catch {
        return false;
      }
    });
    const pod = await world.ready('node-1');
    assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0);
  });
});

async function logOf({ access, namespace }: PodWorld, pod: string): Promise<string> {
  const transport = await openTransport(access);
  try {
    return (await transport.request({ method: 'GET', path: resourcePath(pods, namespace, pod, 'log') })).body;
  } finally {
    transport.close();
  }
}
