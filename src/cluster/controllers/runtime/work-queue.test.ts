import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ManualClock } from '../../../kubernetes/testing/manual-clock.ts';
import { WorkQueue } from './work-queue.ts';

async function turns(count = 10): Promise<void> {
  for (let done = 0; done < count; done += 1) {
    await turn();
  }
}

test('a key added many times while it waits is worked once', async () => {
  const worked: string[] = [];
  const reconcile = async (key: string): Promise<void> => {
    worked.push(key);
    await turn();
  };
  const queue = new WorkQueue('test', reconcile, {
    clock: new ManualClock(),
    random: () => 0,
    onError: (error) => assert.fail(String(error)),
  });
  for (const key of ['a', 'b', 'a', 'a']) {
    queue.add(key);
  }
  const running = queue.run();
  await turns();

  assert.deepEqual(worked, ['a', 'b']);
  queue.stop();
  await running;
});

test('a key that fails is reported and comes back later and later, and the others go on', async () => {
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const worked: string[] = [];
  let healed = false;
  const reconcile = async (key: string): Promise<void> => {
    await turn();
    worked.push(key);
    if (key === 'bad' && !healed) {
      throw new Error('no luck');
    }
  };
  const queue = new WorkQueue('test', reconcile, {
    clock,
    random: () => 0,
    onError: (error) => errors.push(error),
  });
  queue.add('bad');
  queue.add('good');
  const running = queue.run();
  await turns();
  assert.deepEqual([worked, clock.pending], [['bad', 'good'], [100]]);

  clock.advance(100);
  await turns();
  assert.deepEqual(clock.pending, [200]);

  healed = true;
  clock.advance(200);
  await turns();
  assert.deepEqual(worked, ['bad', 'good', 'bad', 'bad']);
  assert.deepEqual(clock.pending, []);
  assert.equal(errors.length, 2);
  assert.match(String(errors[0]), /test: bad/u);
  queue.stop();
  await running;
});
