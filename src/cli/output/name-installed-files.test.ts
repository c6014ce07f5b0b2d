import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { nameInstalledPages } from './name-installed-files.ts';

const root = join(import.meta.dirname, '..', '..', '..');

test('a text names our pages by their paths, and leaves files of the operator as they are', () => {
  const own = `'docs/${'own'}.md' and '/home/you/docs/recovery.md' cannot be read`;
  assert.equal(
    nameInstalledPages(`More: docs/volumes/README.md\n${own} (docs/recovery.md)`, root),
    `More: ${root}/docs/volumes/README.md\n${own} (${root}/docs/recovery.md)`,
  );
});
