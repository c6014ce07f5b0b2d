import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..', '..');

test('the last line of npm test counts passed, failed and skipped tests, and the exit code is 0 only without failures', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'closing-line-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'some.test.ts');
  const { NODE_TEST_CONTEXT: _, FAILED_TEST_FILES: __, ...env } = process.env;
  const tests = `import { describe, test } from 'node:test';
    test('one', () => undefined);
    describe('more', () => { test('two', () => undefined); test.skip('three', () => undefined); });`;

  for (const [more, last, code] of [
    ['', '2 passed, 0 failed, 1 skipped', 0],
    ["test('four', () => { throw new Error('wrong'); });", '2 passed, 1 failed, 1 skipped', 1],
  ] as const) {
    await writeFile(path, `${tests}\n${more}\n`);
    const args = [join(root, 'scripts', 'test.mjs'), relative(root, path)];
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
    assert.deepEqual([stdout.trimEnd().split('\n').at(-1), status], [last, code]);
  }
});
