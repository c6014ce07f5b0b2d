import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachStages, detachStages, type Moments } from './stages.ts';

const sum = (stages: Record<string, number>): number =>
  Object.values(stages).reduce((one, other) => one + other, 0);

const attached: Moments = {
  ...{ created: 1010, scheduled: 1030, attached: 1100, staged: 1150, sandbox: 1400, running: 1450 },
};

test('each stage begins when the previous one ended, and their sum is the duration of the call', () => {
  const stages = attachStages(attached, 1000, 1500);
  assert.deepEqual(Object.values(stages), [10, 20, 70, 50, 250, 50, 50]);
  assert.equal(sum(stages), 500);
  const detached: Moments = {
    ...{ released: 1100, requested: 1110, ended: 1300, unstaged: 1400, removed: 1450 },
  };
  assert.deepEqual(Object.values(detachStages(detached, 1000, 1600)), [100, 10, 190, 100, 50, 150]);
});

test('the time of a stage that was not seen belongs to the next one', () => {
  const { staged: _unseen, ...seen } = attached;
  const stages = attachStages(seen, 1000, 1500);
  assert.deepEqual(Object.values(stages), [10, 20, 70, 0, 300, 50, 50]);
});

test('a stage that ended before the previous one has the duration 0, and no duration is negative', () => {
  // the volume was attached to the node before the watch reported the scheduling of the pod
  const stages = attachStages({ ...attached, scheduled: 1120 }, 1000, 1500);
  assert.deepEqual(Object.values(stages), [10, 110, 0, 30, 250, 50, 50]);
  assert.equal(sum(stages), 500);
  // the watch reported the running mount container after the verb had returned
  const late = attachStages({ ...attached, running: 1510 }, 1000, 1500);
  assert.deepEqual(Object.values(late), [10, 20, 70, 50, 250, 110, 0]);
});
