import type { ObjectReference } from '../../../src/kubernetes/api.ts';
import type { Node } from '../../../src/kubernetes/types/node.ts';
import { nodes } from '../../../src/kubernetes/resources.ts';
import { until } from '../../support/until.ts';
import type { NodeUnderTest } from './cluster-under-test.ts';
import type { ClusterWorld } from './cluster-world.ts';

const deadlineMs = 180_000;

export const nodeReference = (name: string): ObjectReference => ({ resource: nodes, name });

export const untilReady = (world: ClusterWorld, name: string): Promise<true> =>
  until('the node to be ready', () => isReady(world, name), deadlineMs);

export const untilLost = (world: ClusterWorld, name: string): Promise<true> =>
  until('the node to be lost', async () => !(await isReady(world, name)), deadlineMs);

/** Starts the node again, whatever the state of its processes. */
export async function startAgain(world: ClusterWorld, node: NodeUnderTest): Promise<void> {
  await node.stop();
  await node.start();
  await untilReady(world, node.name);
}

async function isReady({ api }: ClusterWorld, name: string): Promise<boolean> {
  const { status } = await api.get<Node>(nodeReference(name));
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}
