import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';

const directory = new URL('.', import.meta.url);
/** Matches a page or proposal of Kubernetes, or a source file of Kubernetes or of one of its sidecars. */
const source = /kubernetes\.io: |api-conventions|KEP-\d+|(?:pkg|plugin|staging|policy)\//u;
const definesTests = /^(?: {2})?test\([^\n]* async /mu;
/** Tests without an upstream source: that acknowledged writes outlive the server, and this test. */
const ours = ['crash.test.ts', 'sources.test.ts'];

test('every contract names the convention or the upstream file that it comes from', async () => {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.ts') && !ours.includes(name));
  let seen = 0;
  for (const name of files) {
    const text = await readFile(new URL(name, directory), 'utf8');
    if (!definesTests.test(text)) continue;
    seen += 1;
    assert.match(text, source, name);
  }
  assert.ok(seen > 20, `${seen} contracts`);
});
