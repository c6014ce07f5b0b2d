import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { propertyDocs } from './property-docs.ts';

const root = join(import.meta.dirname, '..');

test('the pages of docs/reference are the current specs of the jobs', () => {
  for (const [path, text] of propertyDocs()) {
    const written = readFileSync(join(root, path), 'utf8');
    assert.equal(written, text, `${path}: run: node scripts/run.mjs scripts/write-property-docs.ts`);
  }
});

test('every job of a release of this repository has a section in docs/reference', () => {
  const headings = [...propertyDocs().values()].flatMap((text) => text.match(/^## .+$/gmu) ?? []);
  const jobs = globSync('release/**/jobs/*/spec', { cwd: root }).map((path) => basename(dirname(path)));
  assert.deepEqual(headings.toSorted(), jobs.map((job) => `## ${job}`).toSorted());
});
