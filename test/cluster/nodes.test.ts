import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Node } from '../../src/kubernetes/types/node.ts';
import { nodes, pods } from '../../src/kubernetes/resources.ts';
import { awaitNodes } from './await-nodes.ts';
import { fixedAddresses, nodePlans } from './network.ts';
import { PodWorld } from './pod-world.ts';
import { testCluster, withoutNodes } from './test-cluster.ts';

const address = 'bosh.cloudfoundry.org/ip-address';

describe('nodes of a real cluster', withoutNodes, () => {
  let world: PodWorld;
  before(async () => {
    world = await PodWorld.open();
  });
  after(() => world.close());

  const readiness = (name: string, status: string): Promise<true> =>
    world.until<Node, true>(nodes, name, (node) => {
      const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
      return ready?.status === status ? true : undefined;
    });

  test('a fixed address goes with its pod from node to node', async () => {
    const ip = fixedAddresses.at(-1) ?? '';
    for (const nodeName of ['node-1', 'node-2']) {
      await world.pod('fixed', { spec: { nodeName }, annotations: { [address]: ip } });
      assert.equal((await world.ready('fixed')).status?.podIP, ip);
      await world.remove(pods, 'fixed');
    }
  });

  test('an address that a pod of another node has is not given twice', async () => {
    const ip = fixedAddresses.at(-2) ?? '';
    await world.pod('first', { spec: { nodeName: 'node-1' }, annotations: { [address]: ip } });
    await world.ready('first');
    await world.pod('second', { spec: { nodeName: 'node-2' }, annotations: { [address]: ip } });
    const { items } = await world.eventually(async () => {
      const events = await world.events('second');
      return events.items.some(({ message }) => message.includes(ip)) ? events : undefined;
    });
    assert.ok(items.length > 0);
    await world.remove(pods, 'first');
    assert.equal((await world.ready('second')).status?.podIP, ip);
  });

  test('a frozen node is lost, and back when it goes on', async () => {
    const { machine } = testCluster().node('node-2');
    await world.pod('on-the-frozen', { spec: { nodeName: 'node-2' } });
    const { metadata } = await world.ready('on-the-frozen');
    await machine.freeze();
    try {
      await readiness('node-2', 'Unknown');
    } finally {
      await machine.thaw();
    }
    await readiness('node-2', 'True');
    await awaitNodes(world.api, nodePlans);
    const again = await world.ready('on-the-frozen');
    assert.equal(again.metadata.uid, metadata.uid);
    assert.equal(await world.run('on-the-frozen', 'echo here'), 'here\n');
  });
});
