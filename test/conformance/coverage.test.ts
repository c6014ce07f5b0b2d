import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { clauses, notRun, notRunEverywhere } from './clauses.ts';

const directory = new URL('./', import.meta.url);
const files = (await readdir(directory)).filter((name) => name.endsWith('.test.ts'));
const texts = await Promise.all(files.map((name) => readFile(new URL(name, directory), 'utf8')));

test('every clause of the list is tested once', () => {
  const tested = texts.flatMap((text) =>
    [...text.matchAll(/^ *clause\('(\d+[a-z])'/gmu)].map(([, id]) => id ?? ''),
  );

  assert.deepEqual(tested.toSorted(), Object.keys(clauses).toSorted());
});

test('each clause that is not run has a reason, and none of them is of a core behaviour', () => {
  for (const [id, reason] of [...Object.entries(notRun), ...Object.entries(notRunEverywhere)]) {
    const number = Number.parseInt(id, 10);
    assert.ok(id in clauses, id);
    assert.ok(reason.length > 20, `${id}: ${reason}`);
    assert.ok(!(number >= 17 && number <= 26) && !(number >= 31 && number <= 38), id);
  }
});

test('nothing is skipped but by the list, with its reason', () => {
  const skipped = texts.flatMap((text) =>
    [...text.matchAll(/skipHere\(t, '(\d+[a-z])'\)/gu)].map(([, id]) => id ?? ''),
  );
  assert.deepEqual(skipped.toSorted(), Object.keys(notRunEverywhere).toSorted());
  const others = texts.filter((text) =>
    /\b(?:t|test|context)\.(?:skip|todo)\(|\{ *(?:skip|todo)\b/u.test(text),
  );
  assert.deepEqual(
    others.map((text) => text.slice(0, 200)),
    [],
  );
});
