import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { errorDocs } from './error-docs.ts';

test('docs/errors.md is the current table', async () => {
  const written = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8');

  assert.equal(written, errorDocs(), 'run: node scripts/run.mjs scripts/write-error-docs.ts');
});
