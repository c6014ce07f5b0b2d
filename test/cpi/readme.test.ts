import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { testList, withTestList } from '../cluster/list/test-list.ts';

test('the README lists what npm run test:cluster runs', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
  assert.equal(readme, withTestList(readme, await testList()), 'run: node scripts/write-test-list.ts');
});
