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

test('events older than five minutes expire, and the last version is always known', () => {
  let now = 0;
  const history = new EventHistory(0, 100, () => now);
  history.add(event(1), 10);
  now = 200_000;
  history.add(event(2), 10);
  assert.deepEqual(revisions(history.since(0)), [1, 2]);
  now = 300_000;
  assert.deepEqual(revisions(history.since(1)), [2]);
  assert.equal(history.since(0), undefined);
  now = 900_000;
  assert.equal(history.since(1), undefined);
  assert.deepEqual(revisions(history.since(2)), []);
});

test('events beyond the capacity expire', () => {
  const history = new EventHistory(0, 2, () => 0);
  for (const revision of [1, 2, 3, 4]) history.add(event(revision), 10);
  assert.equal(history.since(1), undefined);
  assert.deepEqual(revisions(history.since(2)), [3, 4]);
});

test('at least 32 MiB and at most 64 MiB of large events are kept', () => {
  const mebibyte = 1024 * 1024;
  const history = new EventHistory(0, 1000, () => 0);
  for (let revision = 1; revision <= 64; revision += 1) history.add(event(revision), mebibyte);
  assert.equal(history.since(0)?.length, 64);
  history.add(event(65), mebibyte);
  assert.equal(history.since(32), undefined);
  assert.equal(history.since(33)?.length, 32);
});
