import assert from 'node:assert/strict';
import {
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryPath, replaceFile } from './durable-file.ts';

async function scratch(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-replace-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

test('a file is replaced as a whole, for its owner alone; a link in its place is not followed', async (t) => {
  const directory = await scratch(t);
  const [path, other] = [join(directory, 'file'), join(directory, 'other')];
  await writeFile(other, 'other');
  await symlink('other', path);
  replaceFile(path, 'new');
  assert.ok((await lstat(path)).isFile());
  assert.equal(await readFile(path, 'utf8'), 'new');
  assert.equal(await readFile(other, 'utf8'), 'other');
  assert.equal((await stat(path)).mode & 0o777, 0o600);
});

test('drafts that killed runs left go with the next write, and nothing else does', async (t) => {
  const directory = await scratch(t);
  const path = join(directory, 'file');
  const kept = ['file.new', 'file.0123456789abcdef.new.yml', 'other.0123456789abcdef.new', 'file.2024.new'];
  for (const name of kept) await writeFile(join(directory, name), '');
  await mkdir(temporaryPath(path));
  const leftover = temporaryPath(path);
  await writeFile(leftover, 'half');
  replaceFile(path, 'new');
  const names = await readdir(directory);
  assert.equal(names.includes(leftover.slice(directory.length + 1)), false);
  assert.equal(names.length, kept.length + 2, names.join());
});

test('where the system refuses, the old content stays and no draft is left', async (t) => {
  const directory = await scratch(t);
  const path = join(directory, 'file');
  await mkdir(join(path, 'in-the-way'), { recursive: true });
  assert.throws(() => replaceFile(path, 'new'), { code: 'EISDIR' });
  assert.deepEqual(await readdir(directory), ['file']);
});

const withoutRoot = process.getuid?.() === 0 ? false : 'needs root, to be another user';

test("another user's file of a draft's name is left alone", { skip: withoutRoot }, async (t) => {
  const directory = await scratch(t);
  const draft = temporaryPath(join(directory, 'file'));
  await writeFile(draft, '');
  await chown(draft, 65534, 65534);
  replaceFile(join(directory, 'file'), 'new');
  assert.equal((await stat(draft)).uid, 65534);
});
