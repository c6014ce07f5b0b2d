import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { simulatedNodeObject } from '../../embedded-cluster/testing/simulated-nodes/simulated-node-object.ts';
import { nodes } from '../../src/kubernetes/resources.ts';
import { removeDeadNodes } from './dead-nodes.ts';

test('of the nodes on a cluster only simulated ones go that have been silent for long', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-nodes-'));
  const api = await openLocalApi({ directory });
  t.after(async () => {
    await api.close();
    await rm(directory, { recursive: true });
  });
  const since = '2026-01-01T00:00:00Z';
  const later = (minutes: number): number => Date.parse(since) + minutes * 60_000;
  for (const [name, status, isSimulated] of [
    ['dead', 'Unknown', true],
    ['alive', 'True', true],
    ['real', 'Unknown', false],
  ] as const) {
    const { metadata, ...rest } = simulatedNodeObject({ name });
    await api.create(nodes, { ...rest, metadata: isSimulated ? metadata : { name } });
    const conditions = [{ type: 'Ready', status, lastTransitionTime: since, reason: 'x', message: '' }];
    await api.patch({ resource: nodes, name }, { status: { conditions } }, { subresource: 'status' });
  }
  const leftovers = async (): Promise<unknown> =>
    (await api.list(nodes)).items.map(({ metadata }) => metadata.name).toSorted();
  await removeDeadNodes(api, later(2));
  assert.deepEqual(await leftovers(), ['alive', 'dead', 'real']);
  await removeDeadNodes(api, later(6));
  assert.deepEqual(await leftovers(), ['alive', 'real']);
});
