import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Node } from '../../src/kubernetes/types/node.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { nodes, pods } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { awaitNodes } from './await-nodes.ts';
import { nodePlans } from './network.ts';
import { testCluster, withoutNodes } from './test-cluster.ts';
import { VolumeWorld } from './volumes/volume-world.ts';

/** Writes about four lines per second and syncs each before the next. */
const writer =
  'i=0; while :; do i=$((i+1)); echo $i >>/disk/log; sync -d /disk/log; usleep 250000; done & wait';

describe('volumes of nodes that are lost', withoutNodes, () => {
  let world: VolumeWorld;
  before(async () => {
    world = await VolumeWorld.open();
  });
  after(() => world.close());

  test('after a short power cut the node has its volume again, with intact data', async () => {
    const cluster = testCluster();
    const node = cluster.node('node-2');
    await world.claim('powered');
    await world.pod('writer', 'powered', 'node-2', { script: writer });
    const previous = await world.pods.ready('writer');
    const lines = await count(world, 'writer');
    await node.restart(cluster.controlPlane.machine);
    await world.pods.until<Pod, true>(pods, 'writer', (pod) => {
      const isReady = pod?.status?.conditions?.some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      );
      return isReady === true && restartsOf(pod) > restartsOf(previous) ? true : undefined;
    });
    await awaitNodes(world.pods.api, nodePlans);
    assert.ok((await count(world, 'writer')) >= lines);
    await world.pods.remove(pods, 'writer');
    assert.deepEqual(await world.violations('powered'), []);
  });

  test('a volume taken from a node that is out of service is lost to its writer, and that is seen', async () => {
    const cluster = testCluster();
    const { machine } = cluster.node('node-1');
    const { api } = world.pods;
    const lost = { resource: nodes, name: 'node-1' };
    await world.claim('taken');
    await world.pod('writer', 'taken', 'node-1', { script: writer });
    await world.pods.ready('writer');
    const lines = await count(world, 'writer');
    await machine.freeze();
    try {
      const outOfService = {
        key: 'node.kubernetes.io/out-of-service',
        value: 'nodeshutdown',
        effect: 'NoExecute',
      };
      await world.pods.until<Node, true>(nodes, 'node-1', (node) => (isReady(node) ? undefined : true));
      const { spec } = await api.get<Node>(lost);
      await api.patch(lost, { spec: { taints: [...(spec?.taints ?? []), outOfService] } });
      // The pod is deleted and the volume detached, although no process on the node could agree.
      await world.pods.until<Pod, true>(pods, 'writer', (pod) => (pod === undefined ? true : undefined));
      await world.pod('other', 'taken', 'node-2');
      await world.pods.ready('other');
      assert.ok((await count(world, 'other')) >= lines);
      const [violation] = await world.violations('taken');
      assert.deepEqual([violation?.kind, violation?.nodeId], ['taken-while-held', 'node-1']);
    } finally {
      await machine.thaw();
      const { spec } = await api.get<Node>(lost);
      await api.patch(lost, {
        spec: { taints: (spec?.taints ?? []).filter(({ key }) => !key.includes('out-of-service')) },
      });
    }
    await awaitNodes(api, nodePlans);
    // The data that it wrote to the detached disk is lost and does not appear between other lines.
    const volume = (await world.claimNow('taken')).spec.volumeName ?? '';
    await until(
      'node-1 to unmount the volume',
      async () => !(await machine.mounts()).some((line) => line.includes(volume)),
    );
    await world.pods.run('other', 'echo other >/disk/data; sync');
    await world.pods.remove(pods, 'other');
    await world.use('taken', 'node-1', async (pod) => {
      assert.equal(await world.pods.run(pod, 'cat /disk/data'), 'other\n');
    });
  });
});

/** Returns the number of lines that the writer has written. */
async function count(world: VolumeWorld, pod: string): Promise<number> {
  return await until(`lines in ${pod}`, async () => {
    const lines = Number((await world.pods.run(pod, 'wc -l </disk/log')).trim());
    return lines > 4 && lines;
  });
}

const restartsOf = (pod: Pod | undefined): number => pod?.status?.containerStatuses?.[0]?.restartCount ?? 0;

const isReady = (node: Node | undefined): boolean =>
  node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
