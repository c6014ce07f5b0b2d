import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageOf } from './columns.ts';

test('ages have the format of kubectl', () => {
  const start = Date.parse('2030-01-01T00:00:00Z');
  const after = (seconds: number): string => ageOf('2030-01-01T00:00:00Z', start + seconds * 1000);
  const [minute, hour, day] = [60, 3600, 86_400];
  assert.deepEqual(
    [0, 119, 120, 9 * minute + 5, 10 * minute, 179 * minute, 3 * hour, 7 * hour + 5 * minute, 47 * hour].map(
      after,
    ),
    ['0s', '119s', '2m', '9m5s', '10m', '179m', '3h', '7h5m', '47h'],
  );
  assert.deepEqual([2 * day, 3 * day + 4 * hour, 8 * day, 800 * day].map(after), [
    '2d',
    '3d4h',
    '8d',
    '2y70d',
  ]);
  assert.equal(after(-60), '<invalid>');
  assert.equal(ageOf(undefined, start), '<unknown>');
});
