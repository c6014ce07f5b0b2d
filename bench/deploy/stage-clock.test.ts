import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StageClock } from './stage-clock.ts';

test('times a stage from the first part of its line to the last, whatever the chunks', () => {
  const clock = new StageClock();

  clock.feed('Started deploying\n  Creating VM...', 100);
  clock.feed(' Finished (00:00:00)\n  Attach', 350);
  clock.feed("ing disk 'd'...", 360);
  clock.feed(' Finished (00:00:00)\nFinished deploying (00:00:00)\n', 400);

  assert.deepEqual(clock.times, [
    { stage: 'Creating VM', milliseconds: 250 },
    { stage: "Attaching disk 'd'", milliseconds: 50 },
  ]);
});
