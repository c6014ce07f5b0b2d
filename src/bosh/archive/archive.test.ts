import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { lstat, mkdir, readFile, readdir, readlink, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { packTar } from 'modern-tar';
import type { TarEntry } from 'modern-tar';
import { scratchDirectory } from '../testing/scratch.ts';
import { listEntries, packArchive } from './pack-archive.ts';
import type { ArchiveEntry } from './pack-archive.ts';
import { unpackArchive } from './unpack-archive.ts';

const sample: readonly ArchiveEntry[] = [
  { kind: 'directory', name: './bin/', mode: 0o755 },
  { kind: 'content', name: './bin/run', mode: 0o755, content: '#!/bin/sh\n' },
  { kind: 'symlink', name: './bin/latest', mode: 0o777, target: 'run' },
  { kind: 'content', name: './empty', mode: 0o640, content: '' },
  { kind: 'content', name: `./${'deep/'.repeat(40)}file`, mode: 0o644, content: 'long name' },
];

async function writeTar(path: string, entries: readonly TarEntry[], gzip = true): Promise<void> {
  const bytes = await packTar(entries);
  await writeFile(path, gzip ? gzipSync(bytes) : bytes);
}

test('a packed tree is unpacked with its modes and links', async (t) => {
  const directory = await scratchDirectory(t);
  await packArchive(sample, join(directory, 'a.tgz'));
  await unpackArchive(join(directory, 'a.tgz'), join(directory, 'out'));
  assert.equal(await readFile(join(directory, 'out/bin/run'), 'utf8'), '#!/bin/sh\n');
  assert.equal((await stat(join(directory, 'out/bin/run'))).mode & 0o777, 0o755);
  assert.equal((await stat(join(directory, 'out/empty'))).mode & 0o777, 0o640);
  assert.equal(await readlink(join(directory, 'out/bin/latest')), 'run');
  assert.equal(await readFile(join(directory, 'out', 'deep/'.repeat(40), 'file'), 'utf8'), 'long name');
});

test('tar of this machine lists the same names', async (t) => {
  const directory = await scratchDirectory(t);
  await packArchive(sample, join(directory, 'a.tgz'));
  const { stdout } = await promisify(execFile)('tar', ['tzf', join(directory, 'a.tgz')]);
  assert.deepEqual(
    stdout.trim().split('\n'),
    sample.map(({ name }) => name),
  );
});

test('the same entries give the same bytes, at any time and in any directory', async (t) => {
  const directory = await scratchDirectory(t);
  for (const name of ['a', 'b']) {
    await mkdir(join(directory, name, 'sub'), { recursive: true });
    await writeFile(join(directory, name, 'sub', 'z'), 'z'.repeat(100_000));
    await writeFile(join(directory, name, 'B'), 'b');
    await writeFile(join(directory, name, 'a'), '');
    await packArchive(await listEntries(join(directory, name), './'), join(directory, `${name}.tgz`));
  }
  const [a, b] = await Promise.all(['a.tgz', 'b.tgz'].map((name) => readFile(join(directory, name))));
  assert.deepEqual(a, b);
  assert.equal(a?.readUInt32LE(4), 0, 'gzip carries no time');
  assert.deepEqual((await readdir(directory)).toSorted(), ['a', 'a.tgz', 'b', 'b.tgz']);
});

test('any tree survives packing and unpacking', async (t) => {
  const directory = await scratchDirectory(t);
  const name = fc.stringMatching(/^[a-zA-Z0-9 ._é-]{1,120}$/).filter((text) => !/^\.+$/.test(text));
  const tree = fc.dictionary(name, fc.uint8Array({ maxLength: 2000 }), { maxKeys: 6, noNullPrototype: true });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(tree, async (files) => {
      run += 1;
      const [archive, out] = [join(directory, `${run}.tgz`), join(directory, `${run}`)];
      const entries = Object.entries(files).map(([file, content]): ArchiveEntry => ({
        kind: 'content',
        name: `./d/${file}`,
        mode: 0o644,
        content,
      }));
      await packArchive(entries, archive);
      await unpackArchive(archive, out);
      for (const [file, content] of Object.entries(files)) {
        assert.deepEqual(new Uint8Array(await readFile(join(out, 'd', file))), content);
      }
    }),
    { numRuns: 30 },
  );
});

test('no file is written outside of the directory', async (t) => {
  const directory = await scratchDirectory(t);
  const file = (name: string): TarEntry => ({ header: { name, type: 'file', size: 1 }, body: 'x' });
  const link = (name: string, linkname: string): TarEntry => ({
    header: { name, type: 'symlink', size: 0, linkname },
  });
  const hard = (name: string, linkname: string): TarEntry => ({
    header: { name, type: 'link', size: 0, linkname },
  });
  const attacks: Readonly<Record<string, readonly TarEntry[]>> = {
    'parent folder': [file('../evil')],
    'parent folder, hidden': [file('a/../../evil')],
    'absolute name': [file('/tmp/evil')],
    'absolute link': [link('l', '/etc')],
    'link that leaves': [link('a/l', '../../x')],
    'write through a link': [link('l', '..'), file('l/evil')],
    'chain of links': [link('a', 'b/..'), link('b', '.'), link('c', 'a/../..')],
    'hard link that leaves': [hard('h', '../../etc/passwd')],
    'absolute hard link': [hard('h', '/etc/passwd')],
    device: [{ header: { name: 'd', type: 'character-device', size: 0 } }],
    twice: [file('a'), file('./a')],
  };
  for (const [what, entries] of Object.entries(attacks)) {
    const archive = join(directory, 'attack.tgz');
    await writeTar(archive, entries);
    const out = join(directory, 'deep', 'er', 'out');
    await assert.rejects(
      unpackArchive(archive, out),
      { code: 'ARCHIVE_INVALID', message: /attack\.tgz/ },
      what,
    );
  }
  await assert.rejects(lstat(join(directory, 'evil')));
  await assert.rejects(lstat(join(directory, 'deep', 'evil')));
  await assert.rejects(lstat(join(directory, 'deep', 'er', 'evil')));
});

test('an archive without compression is read too', async (t) => {
  const directory = await scratchDirectory(t);
  await writeTar(join(directory, 'a.tar'), [{ header: { name: 'x', size: 1 }, body: 'x' }], false);
  await unpackArchive(join(directory, 'a.tar'), join(directory, 'out'));
  assert.equal(await readFile(join(directory, 'out/x'), 'utf8'), 'x');
});

test('only the chosen entries are written', async (t) => {
  const directory = await scratchDirectory(t);
  await packArchive(sample, join(directory, 'a.tgz'));
  await unpackArchive(join(directory, 'a.tgz'), join(directory, 'out'), { only: (name) => name === 'empty' });
  assert.deepEqual(await readdir(join(directory, 'out')), ['empty']);
});

test('a damaged archive is refused by name', async (t) => {
  const directory = await scratchDirectory(t);
  await packArchive(
    [{ kind: 'content', name: 'x', mode: 0o644, content: 'x'.repeat(100_000) }],
    join(directory, 'a.tgz'),
  );
  const whole = await readFile(join(directory, 'a.tgz'));
  const tar = gunzipSync(whole);
  const damaged: Readonly<Record<string, Uint8Array>> = {
    truncated: whole.subarray(0, whole.length - 20),
    garbage: Buffer.concat([whole.subarray(0, 40), Buffer.alloc(60, 7), whole.subarray(100)]),
    'truncated tar': tar.subarray(0, 5000),
    text: Buffer.from('this is no archive at all'),
    page: Buffer.from(`<html>${'not found '.repeat(200)}</html>`),
  };
  for (const [what, bytes] of Object.entries(damaged)) {
    await writeFile(join(directory, 'damaged.tgz'), bytes);
    const unpacking = unpackArchive(join(directory, 'damaged.tgz'), join(directory, 'out'));
    await assert.rejects(unpacking, { code: 'ARCHIVE_INVALID', message: /damaged\.tgz/ }, what);
  }
  await assert.rejects(unpackArchive(join(directory, 'none.tgz'), directory), { code: 'FILE_NOT_FOUND' });
});

test('a failed packing leaves no files', async (t) => {
  const directory = await scratchDirectory(t);
  const missing: ArchiveEntry = {
    kind: 'file',
    name: 'x',
    mode: 0o644,
    path: join(directory, 'none'),
    size: 10,
  };
  await assert.rejects(packArchive([missing], join(directory, 'a.tgz')));
  assert.deepEqual(await readdir(directory), []);
});
