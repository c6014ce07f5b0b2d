import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { temporaryDirectory } from '../testing/temporary-directory.ts';
import { ObjectStore } from './object-store.ts';
import { journalPath, readStoredObjects } from './read-stored-objects.ts';
import type { StoredObject } from './stored-object.ts';

const object = (name: string, more: Record<string, unknown> = {}): StoredObject => ({
  metadata: { namespace: 'n', name, uid: name, resourceVersion: '' },
  ...more,
});

test('the objects of a running and of a killed cluster are read without a change of the journal', async (t) => {
  const directory = temporaryDirectory(t);
  assert.equal(await readStoredObjects(directory), undefined);
  const file = journalPath(directory);
  const store = ObjectStore.open({ file });
  const removed = store.put('pods', object('removed'));
  store.put('pods', object('kept'));
  const changed = store.put('pods', object('kept', { changed: true }));
  store.remove('pods', removed);
  assert.deepEqual(await readStoredObjects(directory), new Map([['pods', [changed]]]));
  await store.close();

  // A kill of the process during a write leaves half a line.
  const torn = Buffer.concat([await readFile(file), Buffer.from('12345678 {"reso')]);
  await writeFile(file, torn);
  assert.deepEqual(await readStoredObjects(directory), new Map([['pods', [changed]]]));
  assert.deepEqual(await readFile(file), torn);
});

test('a damaged journal is an error, not a cluster without objects', async (t) => {
  const directory = temporaryDirectory(t);
  const file = journalPath(directory);
  const store = ObjectStore.open({ file });
  for (const name of ['a', 'b', 'c']) store.put('pods', object(name));
  await store.close();
  await writeFile(file, (await readFile(file, 'utf8')).replace('"name":"a"', '"name":"x"'));

  await assert.rejects(readStoredObjects(directory), { code: 'CLUSTER_JOURNAL_CORRUPT' });
});
