import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');

test('docs/development/security-model.md names the test of every attack, and no test that does not exist', () => {
  const page = readFileSync(join(root, 'docs/development/security-model.md'), 'utf8');
  const named = [...page.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, path = '']) => path);
  assert.deepEqual(
    named.filter((path) => !existsSync(join(root, path))),
    [],
  );
  const attacks = globSync('{embedded-cluster,scripts,src,test}/**/*.attack.test.ts', { cwd: root });
  assert.ok(attacks.length > 20);
  assert.deepEqual(
    attacks.filter((path) => !named.includes(path)),
    [],
  );
});

test('SECURITY.md is at most 80 lines', () => {
  assert.ok(readFileSync(join(root, 'SECURITY.md'), 'utf8').trimEnd().split('\n').length <= 80);
});
