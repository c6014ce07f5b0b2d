import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventHistory } from './event-history.ts';
import type { StoreEvent } from './stored-object.ts';

const event = (revision: number): StoreEvent => ({
  type: 'ADDED',
  revision,
  resource: 'configmaps',
  object: { metadata: { name: `c${revision}`, uid: '', resourceVersion: String(revision) } },
  previous: undefined,
});

const revisions = (events: readonly StoreEvent[] | undefined): readonly number[] | undefined =>
  events?.map(({ revision }) => revision);

test('what is older than five minutes is forgotten, the last version is known for ever', () => {
  let now = 0;
  const history = new EventHistory(0, 100, () => now);
  history.add(event(1));
  now = 200_000;
  history.add(event(2));
  assert.deepEqual(revisions(history.since(0)), [1, 2]);
  now = 300_000;
  assert.deepEqual(revisions(history.since(1)), [2]);
  assert.equal(history.since(0), undefined);
  now = 900_000;
  assert.equal(history.since(1), undefined);
  assert.deepEqual(revisions(history.since(2)), []);
});

test('more changes than its size are forgotten before', () => {
  const history = new EventHistory(0, 2, () => 0);
  for (const revision of [1, 2, 3, 4]) history.add(event(revision));
  assert.equal(history.since(1), undefined);
  assert.deepEqual(revisions(history.since(2)), [3, 4]);
});
