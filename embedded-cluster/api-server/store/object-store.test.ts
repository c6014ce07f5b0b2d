import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { temporaryDirectory } from '../testing/temporary-directory.ts';
import { ObjectStore } from './object-store.ts';
import type { StoredObject, StoreEvent } from './stored-object.ts';

const object = (name: string, more: Record<string, unknown> = {}): StoredObject => ({
  metadata: { namespace: 'n', name, uid: name, resourceVersion: '' },
  ...more,
});

test('versions grow with every change and continue after a restart, deletions included', async (t) => {
  const file = join(temporaryDirectory(t), 'journal');
  const first = ObjectStore.open({ file });
  const a = first.put('pods', object('a'));
  first.put('pods', object('b'));
  const removed = first.remove('pods', a);
  assert.equal(removed.metadata.resourceVersion, '3');
  await first.close();
  const second = ObjectStore.open({ file });
  assert.equal(second.revision, 3);
  assert.deepEqual(
    second.list('pods').map(({ metadata }) => metadata.name),
    ['b'],
  );
  assert.equal(second.put('pods', object('c')).metadata.resourceVersion, '4');
  await second.close();
});

test('a restart keeps the events since the last compaction, so that watches continue', async (t) => {
  const file = join(temporaryDirectory(t), 'journal');
  const first = ObjectStore.open({ file });
  first.put('pods', object('a'));
  first.put('pods', object('a', { changed: true }));
  await first.close();
  const second = ObjectStore.open({ file });
  assert.deepEqual(
    second.since(1)?.map(({ type }) => type),
    ['MODIFIED'],
  );
  assert.deepEqual(
    second.since(0)?.map(({ type }) => type),
    ['ADDED', 'MODIFIED'],
  );
  await second.close();
});

test('events older than the history are not known, newer ones are', async (t) => {
  const store = ObjectStore.open({ file: join(temporaryDirectory(t), 'journal'), historySize: 5 });
  for (let n = 0; n < 20; n += 1) store.put('pods', object('a', { n }));
  assert.equal(store.since(1), undefined);
  assert.equal(store.since(18)?.length, 2);
  assert.deepEqual(store.since(20), []);
  await store.close();
});

test('a journal that grew is compacted to the live objects, and the counter is kept', async (t) => {
  const file = join(temporaryDirectory(t), 'journal');
  const store = ObjectStore.open({ file, historySize: 10 });
  const filler = 'x'.repeat(100_000);
  store.put('pods', object('kept'));
  for (let n = 0; n < 100; n += 1) store.put('pods', object('big', { filler, n }));
  store.remove('pods', object('big'));
  await store.close();
  const reopened = ObjectStore.open({ file });
  assert.equal(reopened.revision, 102);
  assert.deepEqual(
    reopened.list('pods').map(({ metadata }) => metadata.name),
    ['kept'],
  );
  assert.equal(reopened.get('pods', 'n', 'kept')?.metadata.resourceVersion, '1');
  assert.equal(reopened.since(1), undefined);
  await reopened.close();
});

test('after any changes and restarts the store equals a map', async (t) => {
  const name = fc.constantFrom('a', 'b', 'c');
  const step = fc.oneof(
    fc.record({ put: name, value: fc.jsonValue() }),
    fc.record({ remove: name }),
    fc.record({ restart: fc.constant(true) }),
  );
  const directory = temporaryDirectory(t);
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const file = join(directory, `journal-${(run += 1)}`);
      let store = ObjectStore.open({ file });
      const model = new Map<string, unknown>();
      let changes = 0;
      for (const action of steps) {
        if ('restart' in action) {
          await store.close();
          store = ObjectStore.open({ file });
        } else if ('put' in action) {
          store.put('pods', object(action.put, { value: action.value }));
          model.set(action.put, JSON.parse(JSON.stringify(action.value)));
          changes += 1;
        } else {
          const present = store.get('pods', 'n', action.remove);
          assert.equal(present !== undefined, model.delete(action.remove));
          if (present !== undefined) store.remove('pods', present);
          changes += present === undefined ? 0 : 1;
        }
        assert.equal(store.revision, changes);
      }
      await store.close();
      store = ObjectStore.open({ file });
      const listed = store.list('pods').map((stored) => [stored.metadata.name, stored['value']]);
      assert.deepEqual(
        listed,
        [...model].toSorted(([left], [right]) => (left < right ? -1 : 1)),
      );
      assert.equal(store.revision, changes);
      await store.close();
    }),
    { numRuns: 40 },
  );
});

test('listeners receive changes in order, with the previous state', async (t) => {
  const store = ObjectStore.open({ file: join(temporaryDirectory(t), 'journal') });
  const heard: StoreEvent[] = [];
  const stop = store.subscribe((event) => heard.push(event));
  const first = store.put('pods', object('a'));
  store.put('pods', object('a', { n: 2 }));
  stop();
  store.put('pods', object('a', { n: 3 }));
  assert.deepEqual(
    heard.map(({ type, revision, previous }) => [type, revision, previous]),
    [
      ['ADDED', 1, undefined],
      ['MODIFIED', 2, first],
    ],
  );
  await store.close();
});
