import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { link, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { checkRoot } from '../testing/root-tar.ts';
import { prependedBlocks, header, record, tarFrom } from '../testing/tar-blocks.ts';
import type { TarHeader } from './tar-header.ts';
import { TarReader } from './tar-reader.ts';

const run = promisify(execFile);

for (const format of ['gnu', 'pax', 'ustar', 'v7']) {
  test(`a tar in GNU tar's format ${format} is read unchanged`, async (t) => {
    const directory = await scratchDirectory(t);
    const root = join(directory, 'root');
    const long = format === 'gnu' || format === 'pax' ? 'l'.repeat(120) : 'l'.repeat(60);
    await mkdir(join(root, 'etc', long), { recursive: true });
    await writeFile(join(root, 'etc', long, 'file-ü'), 'content');
    await link(join(root, 'etc', long, 'file-ü'), join(root, 'hard'));
    await symlink(`/target/${long}`, join(root, 'soft'));
    const file = join(directory, 'root.tar');
    await run('tar', ['--format', format, '-C', root, '--sort=name', '-cf', file, '.']);
    const entries: TarHeader[] = [];
    const reader = new TarReader((entry) => void entries.push(entry));
    for await (const chunk of createReadStream(file, { highWaterMark: 300 })) reader.write(chunk as Buffer);
    reader.end();
    assert.deepEqual(
      entries.map(({ name, type, target }) => [name, type, target].filter((text) => text !== '')),
      [
        ['./', '5'],
        ['./etc/', '5'],
        [`./etc/${long}/`, '5'],
        [`./etc/${long}/file-ü`, '0'],
        ['./hard', '1', `./etc/${long}/file-ü`],
        ['./soft', '2', `/target/${long}`],
      ],
    );
    assert.deepEqual(await checkRoot(await readFile(file)), await readFile(file));
  });
}

test('a header that other programs read differently is refused', async () => {
  const file = header('file', '0', 0);
  const cases: readonly [Buffer, RegExp][] = [
    ...['path', 'linkpath', 'size', 'GNU.sparse.name'].map((key): [Buffer, RegExp] => [
      tarFrom(prependedBlocks('g', record(key, '7')), file),
      new RegExp(`a global pax header has '${key}'`, 'u'),
    ]),
    [
      tarFrom(prependedBlocks('x', record('path', 'a')), prependedBlocks('g', record('comment', 'c')), file),
      /global.*between/u,
    ],
    [
      tarFrom(prependedBlocks('L', 'a\0'), prependedBlocks('g', record('comment', 'c')), file),
      /global.*between/u,
    ],
    [
      tarFrom(prependedBlocks('x', record('path', 'a')), prependedBlocks('x', record('mtime', '1')), file),
      /two headers of pax/u,
    ],
    [
      tarFrom(prependedBlocks('L', 'a\0'), prependedBlocks('x', record('path', 'b')), file),
      /'file' has a path both/u,
    ],
    [
      tarFrom(prependedBlocks('x', record('path', 'b')), prependedBlocks('L', 'a\0'), file),
      /'file' has a path both/u,
    ],
    [
      tarFrom(prependedBlocks('x', record('linkpath', 'b')), prependedBlocks('K', 'a\0'), file),
      /'file' has a linkpath both/u,
    ],
    ...['', '-1', '+1', ' 1', '0x10', '1e3', '1.0', '99999999999999999999'].map((size): [Buffer, RegExp] => [
      tarFrom(prependedBlocks('x', record('size', size)), file),
      /size that cannot be read/u,
    ]),
    // The second record's length leads back to the end of the first one.
    [
      tarFrom(prependedBlocks('x', `${record('a', 'b')}-5 c=d\n`), file),
      /pax records of a header cannot be read/u,
    ],
    [tarFrom(prependedBlocks('x', '0x9 a=bc\n'), file), /pax records of a header cannot be read/u],
    [tarFrom(header('file', '0', 0, { 257: 'ustar  \0', 345: 'etc' })), /number that cannot be read/u],
    [tarFrom(header('file', '0', 0, { 124: '12\u000034\0' })), /number that cannot be read/u],
  ];
  for (const [tar, message] of cases)
    await assert.rejects(checkRoot(tar), { code: 'ARCHIVE_INVALID', message }, String(message));
});

test("a header is read as Go's archive/tar reads it", () => {
  const read = (...blocks: Buffer[]): string[] => {
    const entries: string[] = [];
    const reader = new TarReader(({ name, type, size }) => void entries.push(`${type} ${name} ${size}`));
    reader.write(tarFrom(...blocks));
    reader.end();
    return entries;
  };
  const file = header('file', '0', 0);
  const prefix = { 345: 'etc' };
  // In old tars, a folder has no content, whatever its size field contains.
  assert.deepEqual(read(header('old/', '\0', 512), file), ['5 old/ 512', '0 file 0']);
  assert.deepEqual(read(header('old', '\0', 512), Buffer.alloc(512, 'x'), file), ['0 old 512', '0 file 0']);
  assert.deepEqual(read(prependedBlocks('x', record('path', 'long/')), header('old', '\0', 512), file), [
    '5 long/ 512',
    '0 file 0',
  ]);
  assert.deepEqual(read(header('size', '0', 0, { 124: '\u00000000001000 ' }), Buffer.alloc(512, 'x'), file), [
    '0 size 512',
    '0 file 0',
  ]);
  assert.deepEqual(read(header('a', '0', 0, prefix)), ['0 etc/a 0']);
  assert.deepEqual(read(header('a', '0', 0, { ...prefix, 263: ' \0' })), ['0 etc/a 0']);
  assert.deepEqual(read(header('a', '0', 0, { 345: 'e'.repeat(140), 508: 'tar\0' })), [
    `0 ${'e'.repeat(131)}/a 0`,
  ]);
  assert.deepEqual(read(header('a', '0', 0, { ...prefix, 257: 'ustarx00' })), ['0 a 0']);
  assert.deepEqual(read(header('a', '0', 0, { ...prefix, 257: '\0\0\0\0\0\0\0\0' })), ['0 a 0']);
  assert.deepEqual(read(prependedBlocks('g', record('comment', 'of git archive')), file), ['0 file 0']);
});

test('sparse files are refused in every format', async (t) => {
  const directory = await scratchDirectory(t);
  await run('truncate', ['-s', '1M', join(directory, 'sparse')]);
  for (const format of ['gnu', 'pax']) {
    const file = join(directory, `${format}.tar`);
    await run('tar', ['--format', format, '--sparse', '-C', directory, '-cf', file, 'sparse']);
    await assert.rejects(checkRoot(await readFile(file)), { code: 'ARCHIVE_INVALID', message: /sparse/ });
  }
});
