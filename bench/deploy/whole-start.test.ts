import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wholeStart } from './whole-start.ts';

const stages = [
  { stage: 'Creating VM', milliseconds: 250 },
  { stage: 'Attaching disk', milliseconds: 50 },
];

test('the time before the deployer is a separate stage if it built, and the stages are complete', () => {
  const parts = wholeStart(
    { began: 1000, building: 1100, built: 1900, deploying: 2000, ended: 2500 },
    stages,
  );

  assert.deepEqual(
    parts.map(({ milliseconds }) => milliseconds),
    [100, 800, 100, 250, 50, 200],
  );
  assert.match(parts[1]?.stage ?? '', /^build/);
});

test('a start that builds nothing has one part before the deployer', () => {
  const parts = wholeStart({ began: 1000, deploying: 1200, ended: 1600 }, stages);

  assert.deepEqual(
    parts.map(({ milliseconds }) => milliseconds),
    [200, 250, 50, 100],
  );
});
