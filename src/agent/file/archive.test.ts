import assert from 'node:assert/strict';
import {
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { packTar } from 'modern-tar';
import type { TarHeader } from 'modern-tar';
import { isProductError } from '../../errors/product-error.ts';
import { makeArchive } from '../testing/archives.ts';
import { createArchive, extractArchive } from './archive.ts';

async function makeDirectories(t: TestContext): Promise<{ archive: string; target: string; base: string }> {
  const base = await mkdtemp(join(tmpdir(), 'agent-'));
  t.after(() => rm(base, { recursive: true }));
  const target = join(base, 'target');
  await mkdir(target);
  return { base, target, archive: join(base, 'archive.tgz') };
}

test('extracts files, modes, links to anywhere, and one folder without its name', async (t) => {
  const { archive, target } = await makeDirectories(t);
  const files = {
    './web/bin/ctl': 'script',
    './web/lib': { link: '/var/vcap/packages/lib' },
    './other/x': 'x',
  };
  await writeFile(archive, await makeArchive(files));
  await extractArchive(archive, target, 'web');
  assert.deepEqual((await readdir(target)).toSorted(), ['bin', 'lib']);
  assert.equal((await stat(join(target, 'bin/ctl'))).mode & 0o777, 0o755);
  assert.equal(await readlink(join(target, 'lib')), '/var/vcap/packages/lib');
});

test('reads plain tar archives', async (t) => {
  const { archive, target } = await makeDirectories(t);
  await writeFile(archive, gunzipSync(await makeArchive({ 'a/b': 'text' })));
  await extractArchive(archive, target);
  assert.equal(await readFile(join(target, 'a/b'), 'utf8'), 'text');
});

const entry = (
  header: Partial<TarHeader> & { name: string },
  body?: string,
): { header: TarHeader; body?: string } => ({
  header: { size: body === undefined ? 0 : Buffer.byteLength(body), ...header },
  ...(body === undefined ? {} : { body }),
});

const hostile: readonly (readonly [string, ReturnType<typeof entry>[]])[] = [
  ['a path upwards', [entry({ name: '../escaped' }, 'x')]],
  [
    'a link that is written through',
    [entry({ name: 'out', type: 'symlink', linkname: '..' }), entry({ name: 'out/escaped' }, 'x')],
  ],
  [
    'a link made through a link',
    [
      entry({ name: 'out', type: 'symlink', linkname: '..' }),
      entry({ name: 'out/escaped', type: 'symlink', linkname: 'x' }),
    ],
  ],
  ['a link upwards', [entry({ name: '../escaped', type: 'symlink', linkname: 'x' })]],
  ['a device', [entry({ name: 'escaped', type: 'character-device' })]],
  ['a hard link upwards', [entry({ name: 'escaped', type: 'link', linkname: '../archive.tgz' })]],
];
for (const [what, entries] of hostile) {
  test(`refuses ${what} and writes nothing outside`, async (t) => {
    const { archive, base, target } = await makeDirectories(t);
    await writeFile(archive, await packTar(entries));
    await assert.rejects(extractArchive(archive, target), (error) =>
      isProductError(error, 'AGENT_ARCHIVE_INVALID'),
    );
    assert.deepEqual((await readdir(base)).toSorted(), ['archive.tgz', 'target']);
  });
}

test('rejects a file that is not an archive, and a truncated archive', async (t) => {
  const { archive, target } = await makeDirectories(t);
  await writeFile(archive, 'no archive at all');
  await assert.rejects(extractArchive(archive, target), /cannot be unpacked/);
  const whole = await makeArchive({ file: 'x'.repeat(100_000) });
  await writeFile(archive, whole.subarray(0, whole.length - 20));
  await assert.rejects(extractArchive(archive, target), /cannot be unpacked/);
});

test('unpacks an archive that it packed', async (t) => {
  const { archive, base, target } = await makeDirectories(t);
  const source = join(base, 'source');
  await mkdir(join(source, 'deep/empty'), { recursive: true });
  await writeFile(join(source, 'deep/run'), '#!/bin/sh\n', { mode: 0o755 });
  const long = 'n'.repeat(180);
  await writeFile(join(source, 'deep', long), 'long name');
  await symlink('deep/run', join(source, 'link'));
  await link(join(source, 'deep/run'), join(source, 'same'));
  await createArchive(source, archive);
  await extractArchive(archive, target);
  assert.equal(await readFile(join(target, 'deep', long), 'utf8'), 'long name');
  assert.equal(await readlink(join(target, 'link')), 'deep/run');
  assert.ok((await lstat(join(target, 'deep/empty'))).isDirectory());
  const [run, same] = await Promise.all([stat(join(target, 'deep/run')), stat(join(target, 'same'))]);
  assert.equal(run.ino, same.ino);
  assert.equal(run.mode & 0o777, 0o755);
});
