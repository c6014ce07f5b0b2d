import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { bunIsMissing, runInBun } from '../../kubernetes/testing/run-in-bun.ts';
import { copyDirectory } from './copy-directory.ts';

async function makeDirectories(t: TestContext): Promise<{ source: string; target: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'copy-folder-'));
  t.after(() => rm(directory, { recursive: true }));
  const [source, target] = [join(directory, 'source'), join(directory, 'target')];
  await mkdir(join(source, 'deep'), { recursive: true });
  await mkdir(target);
  await writeFile(join(source, 'deep', 'file'), 'x'.repeat(1 << 20), { mode: 0o640 });
  await utimes(join(source, 'deep', 'file'), 1000, 1000);
  await symlink('deep/file', join(source, 'link'));
  return { source, target };
}

async function assertCopied(target: string): Promise<void> {
  const file = join(target, 'deep', 'file');
  assert.equal((await readFile(file)).length, 1 << 20);
  const { mode, mtimeMs } = await stat(file);
  assert.deepEqual([mode & 0o777, mtimeMs], [0o640, 1_000_000]);
  assert.equal(await readlink(join(target, 'link')), 'deep/file');
}

test('copies content, modes, times and links', async (t) => {
  const { source, target } = await makeDirectories(t);
  await copyDirectory(source, target);
  await assertCopied(target);
});

test('copies in Bun', { skip: bunIsMissing() ?? false }, async (t) => {
  const { source, target } = await makeDirectories(t);
  assert.deepEqual(await runInBun('../../agent/testing/copy-in-bun.ts', { source, target }), [
    { name: 'copyFolder' },
  ]);
  await assertCopied(target);
});

test('fails if the target or the source does not exist', async (t) => {
  const { source, target } = await makeDirectories(t);
  await assert.rejects(copyDirectory(source, join(target, 'none')), { code: 'AGENT_DISK_FAILED' });
  await assert.rejects(copyDirectory(join(source, 'none'), target), { code: 'AGENT_DISK_FAILED' });
});
