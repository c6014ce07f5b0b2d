import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkout } from '../support/embedded-line.ts';

const sizes = globSync('/sys/kernel/mm/transparent_hugepage/hugepages-{16,32,64}kB/enabled');
const settings = (): string[] => sizes.map((path) => readFileSync(path, 'utf8'));

test('a command has larger pages where they may be set, ends as it does, and the former setting is back', () => {
  const former = settings();
  const shown = 'for file; do [ ! -w "$file" ] || cat "$file"; done; exit 7';
  const words = ['.ci/larger-pages', 'sh', '-c', shown, 'sh', ...sizes];
  const { status, stdout } = spawnSync('bash', words, { cwd: checkout, encoding: 'utf8' });
  assert.equal(status, 7);
  for (const line of stdout.split('\n').slice(0, -1)) assert.match(line, /\[always\]/u);
  assert.deepEqual(settings(), former);
});
