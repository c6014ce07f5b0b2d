import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../platform/clock.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { WorkQueue } from './work-queue.ts';

async function turns(): Promise<void> {
  for (let done = 0; done < 10; done += 1) {
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

test('a timer that fires before the clock is there does not bring the key too early', async () => {
  const clock = new ManualClock();
  const seen: number[] = [];
  const timerAhead: Clock = {
    now: () => clock.now(),
    sleep: async (milliseconds, signal) => {
      await clock.sleep(milliseconds > 1 ? milliseconds - 1 : milliseconds, signal);
    },
  };
  const reconcile = async (): Promise<void> => {
    seen.push(timerAhead.now());
    await turn();
  };
  const queue = new WorkQueue('test', reconcile, {
    clock: timerAhead,
    random: () => 0,
    onError: (error) => assert.fail(String(error)),
  });
  const start = timerAhead.now();
  queue.addAfter('a', 1000);
  const running = queue.run();
  clock.advance(999);
  await turns();
  assert.deepEqual(seen, []);
  clock.advance(1);
  await turns();
  assert.deepEqual(seen, [start + 1000]);
  queue.stop();
  await running;
});

test('a delay that is longer than setTimeout takes is waited for', async () => {
  const clock = new ManualClock();
  let count = 0;
  const queue = new WorkQueue('test', async () => void (count += 1), {
    clock,
    random: () => 0,
    onError: (error) => assert.fail(String(error)),
  });
  const month = 30 * 24 * 3600 * 1000;
  queue.addAfter('a', month);
  const running = queue.run();
  await turns();
  assert.ok(clock.pending.every((delay) => delay < 2 ** 31));
  clock.advance(2 ** 31 - 1);
  await turns();
  assert.equal(count, 0);
  clock.advance(month - (2 ** 31 - 1));
  await turns();
  assert.equal(count, 1);
  queue.stop();
  await running;
});

test('a key waits once, for the earliest of its times, however often it asks to come back', async () => {
  const clock = new ManualClock();
  let count = 0;
  const queue = new WorkQueue(
    'test',
    async (key) => {
      count += 1;
      queue.addAfter(key, 1000);
    },
    { clock, random: () => 0, onError: (error) => assert.fail(String(error)) },
  );
  const running = queue.run();
  for (let times = 0; times < 5; times += 1) {
    queue.add('a');
    await turns();
  }
  assert.deepEqual([count, clock.pending], [5, [1000]]);
  queue.addAfter('a', 10);
  queue.addAfter('a', 20);
  assert.deepEqual(clock.pending, [10]);
  clock.advance(10);
  await turns();
  assert.deepEqual([count, clock.pending], [6, [1000]]);
  queue.stop();
  await running;
  assert.deepEqual(clock.pending, []);
});
