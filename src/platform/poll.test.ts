import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../errors/product-error.ts';
import { poll } from './poll.ts';

function simulatedClock() {
  let time = 0;
  const pauses: number[] = [];
  const clock = {
    now: () => time,
    sleep: async (milliseconds: number) => {
      pauses.push(milliseconds);
      time += milliseconds;
    },
  };
  return { clock, pauses };
}

test('begins with short pauses and doubles them up to the longest', async () => {
  const { clock, pauses } = simulatedClock();
  let tries = 0;

  const result = await poll(async () => ((tries += 1) === 7 ? 'done' : undefined), {
    clock,
    signal: undefined,
    timeoutMs: 10_000,
    maxDelayMs: 100,
  });

  assert.equal(result, 'done');
  assert.deepEqual(pauses, [20, 40, 80, 100, 100, 100]);
});

test('tries once more at the end of the timeout and then fails', async () => {
  const { clock, pauses } = simulatedClock();
  let tries = 0;

  const result = await poll(async () => void (tries += 1), {
    clock,
    signal: undefined,
    timeoutMs: 50,
    maxDelayMs: 500,
  });

  assert.equal(result, undefined);
  assert.deepEqual([tries, pauses], [3, [20, 30]]);
});

test('an interrupt ends the poll', async () => {
  const { clock } = simulatedClock();
  const interrupt = new AbortController();

  const polling = poll(async () => interrupt.abort(), {
    clock,
    signal: interrupt.signal,
    timeoutMs: 50,
    maxDelayMs: 500,
  });

  await assert.rejects(polling, (error) => isProductError(error, 'INTERRUPTED'));
});
