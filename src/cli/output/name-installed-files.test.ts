import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { nameInstalledPages } from './name-installed-files.ts';

const root = join(import.meta.dirname, '..', '..', '..');

test('a text names our pages by their paths, and leaves files of the operator as they are', () => {
  const own = ['docs', 'own.md'].join('/');
  assert.equal(
    nameInstalledPages(
      `More: docs/volumes/README.md\n${own} or '/home/you/docs/recovery.md' (docs/recovery.md)`,
      root,
    ),
    `More: ${root}/docs/volumes/README.md\n${own} or '/home/you/docs/recovery.md' (${root}/docs/recovery.md)`,
  );
});
