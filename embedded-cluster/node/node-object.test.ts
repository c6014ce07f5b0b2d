import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { machineLabel, type Node } from '../../src/kubernetes/types/node.ts';
import { nodes } from '../../src/kubernetes/resources.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Resource } from '../../src/kubernetes/api.ts';
import { type LocalApi, openLocalApi } from '../api-server/local-api.ts';
import { registerNode } from './node-object.ts';

const facts = {
  ...{ name: 'embedded', zone: 'embedded', machine: 'embedded', storage: 1 << 30 },
  ...{ machineId: '', bootId: '', osImage: 'Linux', version: '1.34.0', now: '2026-01-01T00:00:00Z' },
};

async function openApi(t: TestContext): Promise<LocalApi> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-node-'));
  const api = await openLocalApi({ directory });
  t.after(async () => {
    await api.close();
    await rm(directory, { recursive: true });
  });
  return api;
}

test('a controller may write to a new Node before it is reported ready', async (t) => {
  const api = await openApi(t);
  const create = api.create.bind(api);
  const taints = [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }];
  t.mock.method(api, 'create', async (resource: Resource, object: KubernetesObject) => {
    const made = await create(resource, object);
    await api.patch({ resource: nodes, name: 'embedded' }, { spec: { taints } });
    return made;
  });
  await registerNode(api, facts);
  const { spec, status } = await api.get<Node>({ resource: nodes, name: 'embedded' });
  assert.deepEqual(spec?.taints, taints);
  assert.equal(status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
});

test('a Node of an earlier version gets its missing labels, and keeps its others', async (t) => {
  const api = await openApi(t);
  const labels = { 'topology.kubernetes.io/zone': 'mine', color: 'blue' };
  await api.create(nodes, { metadata: { name: 'embedded', labels } });
  await registerNode(api, facts);
  const { items } = await api.list(nodes, { labelSelector: `${machineLabel}=embedded` });
  assert.deepEqual(
    items.map(({ metadata }) => [
      metadata.labels?.['topology.kubernetes.io/zone'],
      metadata.labels?.['color'],
    ]),
    [['mine', 'blue']],
  );
  const before = items[0]?.metadata.resourceVersion;
  await registerNode(api, facts);
  const again = await api.list(nodes);
  assert.equal(again.items[0]?.metadata.resourceVersion, before, 'the same again writes nothing');
});
