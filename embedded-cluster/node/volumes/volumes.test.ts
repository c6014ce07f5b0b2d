import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { projectFiles, writeProjectedFiles } from './projected-volume.ts';
import { resolveSubPath } from './sub-path.ts';

async function temporary(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-volumes-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

test('a missing subPath is created, and a subPath may be a file', async (t) => {
  const volume = await temporary(t);
  await writeFile(join(volume, 'file'), '');
  assert.deepEqual(resolveSubPath(volume, 'a/b'), { path: join(volume, 'a/b'), kind: 'directory' });
  assert.ok((await stat(join(volume, 'a/b'))).isDirectory());
  assert.deepEqual(resolveSubPath(volume, './file'), { path: join(volume, 'file'), kind: 'file' });
});

test('a subPath does not leave its volume', async (t) => {
  const directory = await temporary(t);
  const volume = join(directory, 'volume');
  await mkdir(volume);
  await symlink(directory, join(volume, 'link'));
  for (const subPath of ['../x', '/etc', 'a/../../x', 'link', 'link/x', 'a\nb']) {
    assert.throws(() => resolveSubPath(volume, subPath), Error, subPath);
  }
  assert.deepEqual(await readdir(directory), ['volume']);
});

test('keys become files with the requested modes', async (t) => {
  const directory = await temporary(t);
  const data = new Map([
    ['a', Buffer.from('1')],
    ['b', Buffer.from('2')],
  ]);
  const items = [{ key: 'a', path: 'deep/a', mode: 0o400 }];
  await writeProjectedFiles(directory, projectFiles({ items, defaultMode: 0o600 }, data));
  await writeProjectedFiles(directory, projectFiles({ defaultMode: 0o640 }, data));
  assert.equal((await stat(join(directory, 'deep/a'))).mode & 0o777, 0o400);
  assert.equal((await stat(join(directory, 'b'))).mode & 0o777, 0o640);
  assert.equal(await readFile(join(directory, 'b'), 'utf8'), '2');
  assert.throws(() => projectFiles({ items: [{ key: 'c', path: 'c' }] }, data), /non-existent/);
  assert.deepEqual(projectFiles({ items: [{ key: 'c', path: 'c' }], optional: true }, data), []);
  assert.throws(() => projectFiles({ items: [{ key: 'a', path: '../a' }] }, data), /cannot be projected/);
});
