import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { DirectoryHandle, openPlainFile, removeTree } from './directory-handle.ts';

const unsafe = { code: 'AGENT_PATH_UNSAFE' };

async function makeDirectory(t: TestContext): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'agent-')));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function contentOf(path: string): Promise<string> {
  await using file = await openPlainFile(path, 'read');
  return await file.readFile('utf8');
}

test('follows a link only if only root can have created it', async (t) => {
  const base = await makeDirectory(t);
  await mkdir(join(base, 'data/sys'), { recursive: true });
  await writeFile(join(base, 'data/sys/file'), 'content');
  await symlink('data/sys', join(base, 'sys'));
  assert.equal(await contentOf(join(base, 'sys/file')), 'content');
  await symlink('file', join(base, 'data/sys/link'));
  await assert.rejects(contentOf(join(base, 'sys/link')), unsafe);
  await chmod(base, 0o770);
  await assert.rejects(contentOf(join(base, 'sys/file')), unsafe);
  assert.equal(await contentOf(join(base, 'data/sys/file')), 'content');
  await chmod(base, 0o700);
  await symlink('loop', join(base, 'loop'));
  await assert.rejects(contentOf(join(base, 'loop/file')), unsafe);
});

test('rejects anything but a plain file with one hard link, for reading and for appending', async (t) => {
  const base = await makeDirectory(t);
  await writeFile(join(base, 'file'), 'content');
  await link(join(base, 'file'), join(base, 'hard'));
  await symlink('none', join(base, 'dangling'));
  await mkdir(join(base, 'folder'));
  execFileSync('mkfifo', [join(base, 'pipe')]);
  for (const name of ['file', 'hard', 'dangling', 'folder', 'pipe']) {
    for (const use of ['read', 'append'] as const) {
      await assert.rejects(openPlainFile(join(base, name), use), unsafe, `${use} ${name}`);
    }
  }
  await assert.rejects(openPlainFile(join(base, 'none'), 'read'), { code: 'ENOENT' });
  await using made = await openPlainFile(join(base, 'made'), 'append');
  await made.writeFile('one ');
  await using again = await openPlainFile(join(base, 'made'), 'append');
  await again.writeFile('two');
  assert.equal(await contentOf(join(base, 'made')), 'one two');
});

test('an open directory stays the same if its path is replaced', async (t) => {
  const base = await makeDirectory(t);
  await mkdir(join(base, 'a'));
  await mkdir(join(base, 'outside'));
  await writeFile(join(base, 'outside/kept'), '');
  await using directory = await DirectoryHandle.open(join(base, 'a'));
  await rename(join(base, 'a'), join(base, 'moved'));
  await symlink('outside', join(base, 'a'));
  await using log = await directory.openFile('log', 'append');
  await log.writeFile('line');
  assert.equal(await directory.makeDirectory('new', 0o700), true);
  assert.equal(await directory.makeDirectory('new', 0o700), false);
  await directory.chownToRoot(undefined, 0o711);
  await directory.remove('kept');
  assert.deepEqual((await readdir(join(base, 'moved'))).toSorted(), ['log', 'new']);
  assert.deepEqual(await readdir(join(base, 'outside')), ['kept']);
  assert.equal((await stat(join(base, 'moved'))).mode & 0o777, 0o711);
  for (const name of ['', '.', '..', 'a/b']) await assert.rejects(directory.directory(name), /not the name/);
});

test('removes a tree with any names, and leaves the targets of its links', async (t) => {
  const base = await makeDirectory(t);
  await mkdir(join(base, 'tree/deep/deeper'), { recursive: true });
  await mkdir(join(base, 'outside'));
  await writeFile(join(base, 'outside/kept'), 'kept');
  await symlink('../../outside', join(base, 'tree/deep/link'));
  await writeFile(Buffer.concat([Buffer.from(join(base, 'tree/deep/')), Buffer.from([0xff, 0xfe])]), '');
  await removeTree(join(base, 'tree'));
  await removeTree(join(base, 'tree'));
  await removeTree(join(base, 'none/tree'));
  assert.deepEqual(await readdir(base), ['outside']);
  assert.equal(await readFile(join(base, 'outside/kept'), 'utf8'), 'kept');
});
