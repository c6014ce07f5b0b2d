import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from './clock.ts';
import { countBytes, formatDuration, showProgress } from './live-progress.ts';

test('shows elapsed time after a second, and the bytes of a transfer, and removes its line', async () => {
  const shown: string[] = [];
  let time = 0;
  let wake: () => void = () => undefined;
  const clock: Clock = {
    now: () => time,
    sleep: (_, signal) =>
      new Promise((resolve) => {
        wake = resolve;
        signal?.addEventListener('abort', () => resolve());
      }),
  };
  const tick = async (): Promise<void> => {
    time += 1000;
    wake();
    await new Promise(setImmediate);
  };
  const live = (text: string, end = ''): void => void shown.push(text + end);
  const run = showProgress({ live, clock }, 'Downloading...', async (onBytes) => {
    await tick();
    const source = (async function* chunks() {
      yield new Uint8Array(1.5 * 1024 * 1024);
    })();
    for await (const _ of countBytes(onBytes, 3 * 1024 * 1024)(source)) await tick();
    throw new Error('failed');
  });
  await assert.rejects(run, /failed/u);
  assert.deepEqual(shown, [
    'Downloading...',
    'Downloading... 00:00:01',
    'Downloading... 00:00:02, 1.5 of 3.0 MiB',
    '',
  ]);
});

test('writes durations as hours, minutes and seconds', () => {
  assert.equal(formatDuration(3_723_999), '01:02:03');
  assert.equal(formatDuration(100 * 3_600_000), '100:00:00');
});
