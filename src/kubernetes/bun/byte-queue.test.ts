import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteQueue } from './byte-queue.ts';

test('hands over chunks in order, then the end, to a reader who waits or not', async () => {
  const queue = new ByteQueue({ onFlow: () => {}, high: 10, low: 5 });
  const first = queue.next();
  queue.push(Uint8Array.of(1));
  queue.push(Uint8Array.of(2));
  queue.end();

  assert.deepEqual(
    [await first, await queue.next(), await queue.next()],
    [Uint8Array.of(1), Uint8Array.of(2), undefined],
  );
});

test('gives what came before an error, then the error; a later end changes nothing', async () => {
  const queue = new ByteQueue({ onFlow: () => {}, high: 10, low: 5 });
  queue.push(Uint8Array.of(1));
  queue.end({ error: new Error('broken') });
  queue.end();

  assert.deepEqual(await queue.next(), Uint8Array.of(1));
  await assert.rejects(queue.next(), { message: 'broken' });
});

test('stops the flow above the one limit and lets it go on below the other', async () => {
  const flows: boolean[] = [];
  const queue = new ByteQueue({ onFlow: (wanted) => flows.push(wanted), high: 10, low: 5 });
  for (let index = 0; index < 4; index += 1) queue.push(new Uint8Array(4));
  assert.deepEqual(flows, [false]);
  await queue.next();
  await queue.next();
  assert.deepEqual(flows, [false]);
  await queue.next();

  assert.deepEqual(flows, [false, true]);
});
