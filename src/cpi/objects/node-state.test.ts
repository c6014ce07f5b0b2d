import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { nodes } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { testCloud } from '../testing/test-cloud.ts';
import { readNodeState } from './node-state.ts';

const silentSince = '2026-01-01T00:00:00Z';
const silent = {
  ...{ type: 'Ready', status: 'Unknown', lastTransitionTime: silentSince },
  ...{ reason: 'NodeStatusUnknown', message: 'stopped posting' },
};
const after = (seconds: number): number => Date.parse(silentSince) + seconds * 1000;

async function makeSilent(api: KubernetesApi): Promise<void> {
  await api.create(nodes, { metadata: { name: 'n1' } });
  await api.patch(
    { resource: nodes, name: 'n1' },
    { status: { conditions: [silent] } },
    { subresource: 'status' },
  );
}

test("how long a node has been silent is told by the server's clock, whatever the caller's says", async (t) => {
  const { cloud, api } = await testCloud(t, { deadlines: { lost_node: 120 } });
  await makeSilent(api);
  const look = async (callers: number, servers: number | undefined): Promise<string> => {
    const timed = { ...interceptingApi(api, () => Promise.resolve()), serverTime: () => servers };
    const clock: CallContext['clock'] = { ...cloud.clock, now: () => callers };
    return (await readNodeState({ ...cloud, api: timed, clock }, 'n1')).kind;
  };
  assert.equal(await look(after(121), after(1)), 'answers');
  assert.equal(await look(after(1), after(121)), 'lost');
  assert.equal(await look(after(-3600), after(121)), 'lost');
  // a server that sends no time: no node is lost
  assert.equal(await look(after(3600), undefined), 'answers');
});

test("an API in the caller's own process has the caller's clock", async (t) => {
  const { cloud, api } = await testCloud(t, { deadlines: { lost_node: 120 } });
  await makeSilent(api);
  const at = (now: number): CallContext => ({ ...cloud, clock: { ...cloud.clock, now: () => now } });
  assert.equal((await readNodeState(at(after(1)), 'n1')).kind, 'answers');
  assert.equal((await readNodeState(at(after(121)), 'n1')).kind, 'lost');
});
