import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forEachLimit } from './for-each-limit.ts';

test('runs at most so many at once, in order, and rejects with the first error when all have ended', async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  let running = 0;
  const work = async (item: number): Promise<void> => {
    begun.push(item);
    running += 1;
    assert.ok(running <= 2, `${running} at once`);
    await new Promise<void>((resolve) => void setImmediate(resolve));
    running -= 1;
    if (item % 2 === 0) throw new Error(`${item} failed`);
    ended.push(item);
  };
  await assert.rejects(forEachLimit(2, [1, 2, 3, 4, 5], work), /^Error: 2 failed$/u);
  assert.deepEqual(
    [begun, ended],
    [
      [1, 2, 3, 4, 5],
      [1, 3, 5],
    ],
  );
});
