import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../testing/test-server.ts';

const collection = '/apis/scheduling.k8s.io/v1/priorityclasses';
const warning = /^299 - "preemptionPolicy: the embedded cluster preempts nothing;/;

test('creating a PriorityClass that preempts elsewhere returns a warning', async (t) => {
  const server = await startTestServer(t);
  const create = async (name: string, preemptionPolicy?: string): Promise<string | undefined> => {
    const body = {
      metadata: { name },
      value: 1,
      ...(preemptionPolicy === undefined ? {} : { preemptionPolicy }),
    };
    const answer = await server.call(collection, { method: 'POST', body });
    assert.equal(answer.code, 201, answer.text);
    return answer.headers['warning'];
  };

  assert.match((await create('by-default')) ?? '', warning);
  assert.match((await create('as-written', 'PreemptLowerPriority')) ?? '', warning);
  assert.equal(await create('never', 'Never'), undefined);
});
