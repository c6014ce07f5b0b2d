import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { readPromised } from './promised.ts';
import { gapsIn, leftOut, wholeGroups } from './whole-groups.ts';

test('a test of a whole group that is neither promised nor left out shows', async () => {
  const { names: promised } = await readPromised(join(import.meta.dirname, 'promised'));
  const upstream = [...promised, ...leftOut];
  assert.deepEqual(gapsIn(upstream, promised), []);
  const added = '[sig-api-machinery] Watchers should see what is new';
  assert.deepEqual(gapsIn([...upstream, added], promised), [`neither promised nor left out: ${added}`]);
  assert.deepEqual(gapsIn([...upstream, '[sig-apps] Watchers of another group'], promised), []);
});

test('a group that was renamed, and a left-out test that is gone, show', () => {
  assert.equal(gapsIn([], []).length, wholeGroups.length + leftOut.length);
});
