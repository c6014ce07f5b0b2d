import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { events, nodes, pods } from '../../../src/kubernetes/resources.ts';
import { makePod } from '../../controllers/testing/cluster-fixture.ts';
import { type SimulatedCluster, startSimulatedCluster } from '../simulated-cluster.ts';
import { addressAnnotation } from '../../node/pods/pod-addresses.ts';

const namespace = 'bosh';
const at = (name: string): { resource: typeof pods; namespace: string; name: string } => ({
  resource: pods,
  namespace,
  name,
});
const asking = (name: string, address: string): Pod => {
  const pod = makePod(name);
  return { ...pod, metadata: { ...pod.metadata, annotations: { [addressAnnotation]: address } } };
};

async function start(t: TestContext): Promise<SimulatedCluster> {
  const cluster = await startSimulatedCluster({
    nodes: [
      { name: 'sim-1', zone: 'z1' },
      { name: 'sim-2', zone: 'z2' },
    ],
  });
  t.after(async () => {
    await cluster.stop();
    assert.deepEqual(cluster.errors, []);
  });
  return cluster;
}

const running = ({ api }: SimulatedCluster, name: string): Promise<Pod> =>
  until(`pod ${name} to run`, async () => {
    const pod = await api.get<Pod>(at(name));
    return pod.status?.phase === 'Running' ? pod : undefined;
  });

const untilDeleted = ({ api }: SimulatedCluster, name: string): Promise<boolean> =>
  until(`pod ${name} to be gone`, () =>
    api.get(at(name)).then(
      () => false,
      (error: unknown) => isApiError(error, 404),
    ),
  );

const readyStatus = async ({ api }: SimulatedCluster, name: string): Promise<string | undefined> =>
  (await api.get<Node>({ resource: nodes, name })).status?.conditions?.find(({ type }) => type === 'Ready')
    ?.status;

suite('simulated nodes', () => {
  test('a pod runs, is ready, has an address, and is deleted', async (t) => {
    const cluster = await start(t);
    await cluster.api.create(pods, makePod('p', { nodeSelector: { 'topology.kubernetes.io/zone': 'z2' } }));
    const pod = await running(cluster, 'p');
    assert.equal(pod.spec.nodeName, 'sim-2');
    assert.match(pod.status?.podIP ?? '', /^198\.18\./u);
    assert.equal(pod.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
    assert.equal(pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.status, 'True');
    assert.equal(pod.status?.containerStatuses?.[0]?.ready, true);
    await cluster.api.delete(at('p'));
    await untilDeleted(cluster, 'p');
  });

  test('a requested address is assigned once, and a waiting pod gets it later', async (t) => {
    const cluster = await start(t);
    await cluster.api.create(pods, asking('first', '10.0.0.7'));
    assert.equal((await running(cluster, 'first')).status?.podIP, '10.0.0.7');
    await cluster.api.create(pods, asking('second', '10.0.0.7'));
    await until('the event', async () => {
      const { items } = await cluster.api.list(events, { namespace });
      return items.some((event) => (event as { reason?: string }).reason === 'FailedCreatePodSandBox');
    });
    assert.equal((await cluster.api.get<Pod>(at('second'))).status?.phase, 'Pending');
    await cluster.api.delete(at('first'));
    assert.equal((await running(cluster, 'second')).status?.podIP, '10.0.0.7');
  });

  test('logs and exec report that no process runs there', async (t) => {
    const cluster = await start(t);
    await cluster.api.create(pods, makePod('p'));
    await running(cluster, 'p');
    const target = { namespace, pod: 'p', container: 'bosh' };
    await assert.rejects(
      cluster.nodes.exec({ ...target, command: ['ls'], stdin: false, tty: false }),
      (error) =>
        isApiError(error, 400) &&
        /simulated node, which reports status and runs nothing/u.test(error.message),
    );
    const signal = AbortSignal.timeout(10_000);
    const log = cluster.nodes.logs({ ...target, follow: false, previous: false, timestamps: false, signal });
    const first = log[Symbol.asyncIterator]().next();
    await assert.rejects(first, (error) => isApiError(error, 400));
  });

  test('a frozen node stops its heartbeat and does nothing for its pods, and becomes ready again when it is thawed', async (t) => {
    const cluster = await start(t);
    await cluster.api.create(pods, makePod('p', { tolerations: [{ operator: 'Exists' }] }));
    const { spec } = await running(cluster, 'p');
    const lost = spec.nodeName ?? '';
    cluster.nodes.stopHeartbeat(lost);
    await until('the node to be unknown', async () => (await readyStatus(cluster, lost)) === 'Unknown');
    await until('its pod to be unready', async () =>
      (await cluster.api.get<Pod>(at('p'))).status?.conditions?.some(
        ({ type, status }) => type === 'Ready' && status === 'False',
      ),
    );
    await assert.rejects(
      cluster.nodes.exec({
        namespace,
        pod: 'p',
        container: 'bosh',
        command: ['ls'],
        stdin: false,
        tty: false,
      }),
      (error) => isApiError(error, 500) && error.message.includes('error dialing backend'),
    );
    await cluster.api.delete(at('p'));
    assert.notEqual((await cluster.api.get<Pod>(at('p'))).metadata.deletionTimestamp, undefined);

    await cluster.nodes.resumeHeartbeat(lost);
    await untilDeleted(cluster, 'p');
    await until('the taints to go', async () => {
      const node = await cluster.api.get<Node>({ resource: nodes, name: lost });
      return (node.spec?.taints ?? []).length === 0;
    });
    assert.equal(await readyStatus(cluster, lost), 'True');
  });

  test('2,000 pods run at once, each with its own address', async (t) => {
    const cluster = await start(t);
    for (let count = 0; count < 2000; count += 1) {
      const nodeName = count % 2 === 0 ? 'sim-1' : 'sim-2';
      await cluster.api.create(pods, makePod(`p-${count}`, { nodeName }));
    }
    const all = await until('all to run', async () => {
      const { items } = await cluster.api.list<Pod>(pods, {
        namespace,
        fieldSelector: 'status.phase=Running',
      });
      return items.length === 2000 ? items : undefined;
    });
    assert.equal(new Set(all.map(({ status }) => status?.podIP)).size, 2000);
  });
});
