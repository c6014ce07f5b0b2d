import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { testList, withTestList } from '../test/cluster/list/test-list.ts';

test('docs/development/real-cluster.md lists what npm run test:cluster runs', async () => {
  const page = await readFile(new URL('../docs/development/real-cluster.md', import.meta.url), 'utf8');
  assert.equal(page, withTestList(page, await testList()), 'run: node scripts/write-test-list.ts');
});

test('by the names that a run reports, not as they stand in the source', async () => {
  const list = await testList();
  assert.doesNotMatch(list, /…|\$\{/u);
  assert.match(
    list,
    /^ {2}- a claim of class \(loop, loop-wait\) keeps its data on its way to the other node$/mu,
  );
});
