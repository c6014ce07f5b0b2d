import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedQueue } from './keyed-queue.ts';

test('runs the work for one key in order, after failures too, and other keys meanwhile', async () => {
  const queue = new KeyedQueue();
  const first = Promise.withResolvers<void>();
  const ended: string[] = [];
  const failed = queue.run('a', async () => {
    await first.promise;
    ended.push('a1');
    throw new Error('a1 failed');
  });
  const second = queue.run('a', async () => {
    ended.push('a2');
    return 2;
  });
  await queue.run('b', async () => void ended.push('b'));
  assert.deepEqual(ended, ['b']);
  first.resolve();
  await assert.rejects(failed, /a1 failed/u);
  assert.equal(await second, 2);
  assert.deepEqual(ended, ['b', 'a1', 'a2']);
});
