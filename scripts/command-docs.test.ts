import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { commands } from '../src/cli/commands.ts';
import { commandDocs } from './command-docs.ts';

test('docs/commands.md is what scripts/write-command-docs.ts writes', async () => {
  const page = await readFile(join(import.meta.dirname, '..', 'docs', 'commands.md'), 'utf8');
  assert.equal(page, commandDocs(commands), 'run: node scripts/run.mjs scripts/write-command-docs.ts');
});
