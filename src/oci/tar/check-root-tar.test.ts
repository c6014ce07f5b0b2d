import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { link, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { packTar } from 'modern-tar';
import type { TarHeader as Entry } from 'modern-tar';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import type { RootTarOptions } from './check-root-tar.ts';
import { checkRootTar } from './check-root-tar.ts';
import { TarReader } from './tar-reader.ts';
import type { TarHeader } from './tar-header.ts';

const run = promisify(execFile);

type Short = Omit<Entry, 'size'> & { readonly body?: string };

async function pack(...entries: Short[]): Promise<Buffer> {
  return Buffer.from(
    await packTar(
      entries.map(({ body, ...entry }) => ({
        header: { ...entry, size: body?.length ?? 0 },
        ...(body !== undefined && { body }),
      })),
    ),
  );
}

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function check(tar: Buffer, size = 1000, options: RootTarOptions = {}): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of checkRootTar(inChunks(tar, size), 'root.tar', options)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A device node, which the packer cannot write: the type and the numbers of another header, with a new checksum. */
async function deviceNode(name: string, type: string, major: number, minor: number): Promise<Buffer> {
  const tar = await pack({ name });
  tar.write(type, 156);
  tar.write(`${major.toString(8).padStart(7, '0')}\0${minor.toString(8).padStart(7, '0')}\0`, 329);
  tar.fill(' ', 148, 156);
  const sum = tar.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return tar;
}

test('a root passes byte for byte, in chunks of any size', async () => {
  const tar = await pack(
    { name: './', type: 'directory' },
    { name: './etc/passwd', body: 'root:x:0:0' },
    { name: './etc/mtab', type: 'symlink', linkname: '/proc/self/mounts' },
    { name: './bin/first', body: 'first' },
    { name: './bin/second', type: 'link', linkname: './bin/first' },
    { name: `${'long/'.repeat(60)}name`, body: 'x'.repeat(2000) },
  );
  for (const size of [1, 7, 511, 512, 513, 100_000]) assert.deepEqual(await check(tar, size), tar);
});

test('what would reach out of the root is refused by name', async () => {
  const cases: readonly [Buffer, RegExp][] = [
    [await pack({ name: '../etc/passwd' }), /root\.tar: its entry '\.\.\/etc\/passwd' lies outside/],
    [await pack({ name: 'a/../../b' }), /outside of the root/],
    [await pack({ name: '/etc/passwd' }), /'\/etc\/passwd' lies outside/],
    [
      await pack({ name: 'a', type: 'link', linkname: '../../etc/shadow' }),
      /hard link to '\.\.\/\.\.\/etc\/shadow'/,
    ],
    [await pack({ name: 'a', type: 'link', linkname: '/etc/shadow' }), /hard link/],
    [
      await pack({ name: 'a', type: 'symlink', linkname: '/etc' }, { name: './a/passwd' }),
      /below the symbolic link 'a'/,
    ],
    [await pack({ name: 'etc/.wh.passwd' }), /deletion/],
    [await deviceNode('root/sda', '4', 8, 0), /device node \(block 8:0\)/],
    [await deviceNode('tmp/null', '3', 1, 3), /device node \(character 1:3\)/],
    [await deviceNode('dev/null', '3', 1, 1), /device node \(character 1:1\)/],
    [await deviceNode('odd', 'V', 0, 0), /of a type \('V'\)/],
  ];
  for (const [tar, message] of cases)
    await assert.rejects(check(tar), { code: 'ARCHIVE_INVALID', message }, String(message));
});

test('a hard link reaches no further than its own name does', async () => {
  const outside: Short = { name: 's', type: 'symlink', linkname: '../../../../etc' };
  const absolute: Short = { name: 's', type: 'symlink', linkname: '/etc' };
  const cases: readonly [Short[], RegExp][] = [
    [
      [outside, { name: 'h', type: 'link', linkname: 's/passwd' }],
      /entry 'h' is a hard link to 's\/passwd', which lies below the symbolic link 's'/,
    ],
    [
      [outside, { name: './h', type: 'link', linkname: './s/x/../passwd' }],
      /is a hard link to '\.\/s\/x\/\.\.\/passwd', outside/,
    ],
    [
      [absolute, { name: 'h', type: 'link', linkname: 's' }, { name: 'h/passwd', body: 'x' }],
      /entry 'h\/passwd' lies below the symbolic link 'h'/,
    ],
    [
      [
        absolute,
        { name: 'h', type: 'link', linkname: './s/' },
        { name: 'h2', type: 'link', linkname: 'h/p' },
      ],
      /'h\/p', which lies below the symbolic link 'h'/,
    ],
  ];
  for (const [entries, message] of cases)
    for (const isUpper of [false, true])
      await assert.rejects(check(await pack(...entries), 1000, { isUpper }), {
        code: 'ARCHIVE_INVALID',
        message,
      });
});

test('a hard link to what is not there before it is refused, but over other layers, which may have it', async () => {
  const file: Short = { name: './usr/bin/file', body: 'x' };
  const hard = (name: string, linkname: string): Short => ({ name, type: 'link', linkname });
  await check(await pack(file, hard('a', 'usr/bin/file'), hard('b', './a')));
  for (const entries of [
    [hard('a', 'none')],
    [hard('a', 'usr/bin/file'), file],
    [file, hard('a', 'usr/bin')],
    [hard('a', 'a')],
    [{ name: 'd', type: 'directory' } as Short, hard('a', 'd')],
    [file, { name: './usr/bin/file', type: 'directory' } as Short, hard('a', 'none')],
  ]) {
    const tar = await pack(...entries);
    await assert.rejects(check(tar), {
      code: 'ARCHIVE_INVALID',
      message: /entry 'a' is a hard link to '.*', which is no file before it/,
    });
    await check(tar, 1000, { isUpper: true });
  }
});

test("a container's own devices pass", async () => {
  await check(await deviceNode('./dev/null', '3', 1, 3));
  await check(await deviceNode('dev/console', '3', 5, 1));
});

test('a link that became a folder again holds files', async () => {
  await check(
    await pack(
      { name: 'a', type: 'symlink', linkname: '/etc' },
      { name: 'a', type: 'directory' },
      { name: 'a/b', body: 'b' },
    ),
  );
});

test('a tar that is cut off, or has a damaged header, is refused', async () => {
  const tar = await pack(
    { name: 'etc/hosts', body: 'h'.repeat(700) },
    { name: 'etc/link', type: 'symlink', linkname: 'hosts' },
  );
  for (let length = 0; length < tar.length - 1023; length += 64)
    await assert.rejects(check(tar.subarray(0, length)), { code: 'ARCHIVE_INVALID' }, String(length));
  await assert.rejects(check(Buffer.concat([tar, Buffer.from('more')])), { message: /behind the end/ });
  await fc.assert(
    fc.asyncProperty(fc.nat(147), fc.nat(255), async (place, value) => {
      const damaged = Buffer.from(tar);
      damaged[place] = value;
      if (damaged.equals(tar)) return;
      await assert.rejects(check(damaged), { code: 'ARCHIVE_INVALID' });
    }),
  );
});

test('anything at all ends in one error', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 3000 }), async (bytes) => {
      if (bytes.every((byte) => byte === 0)) return;
      await assert.rejects(check(Buffer.from(bytes)), { code: 'ARCHIVE_INVALID' });
    }),
  );
});

for (const format of ['gnu', 'pax', 'ustar', 'v7']) {
  test(`what GNU tar writes as ${format} is read as it is`, async (t) => {
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
    const reader = new TarReader((entry) => entries.push(entry));
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
    assert.deepEqual(await check(await readFile(file)), await readFile(file));
  });
}

/** A header block as it is asked for, with a checksum that is right. `fields` are written over it. */
function header(
  name: string,
  type: string,
  size: number,
  fields: Readonly<Record<number, string>> = {},
): Buffer {
  const block = Buffer.alloc(512);
  const texts: [number, string][] = [
    [0, name],
    [100, '0000644\0'],
    [124, `${size.toString(8).padStart(11, '0')}\0`],
    [156, type],
    [257, 'ustar\u000000'],
    ...Object.entries(fields).map(([place, text]): [number, string] => [Number(place), text]),
  ];
  for (const [place, text] of texts) block.write(text, place, 'latin1');
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** A header of records or of a long name, with its content. */
function before(type: 'x' | 'g' | 'L' | 'K', content: string): Buffer {
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  return Buffer.concat([header('before', type, content.length), body]);
}

/** One pax record. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const length = rest.length + String(rest.length).length;
  return `${rest.length + String(length).length}${rest}`;
}

const tarFrom = (...blocks: Buffer[]): Buffer => Buffer.concat([...blocks, Buffer.alloc(1024)]);

test('what other programs read differently is refused', async () => {
  const file = header('file', '0', 0);
  const cases: readonly [Buffer, RegExp][] = [
    ...['path', 'linkpath', 'size', 'GNU.sparse.name'].map((key): [Buffer, RegExp] => [
      tarFrom(before('g', record(key, '7')), file),
      new RegExp(`a global pax header holds '${key}'`, 'u'),
    ]),
    [
      tarFrom(before('x', record('path', 'a')), before('g', record('comment', 'c')), file),
      /global.*between/u,
    ],
    [tarFrom(before('L', 'a\0'), before('g', record('comment', 'c')), file), /global.*between/u],
    [
      tarFrom(before('x', record('path', 'a')), before('x', record('mtime', '1')), file),
      /two headers of pax/u,
    ],
    [tarFrom(before('L', 'a\0'), before('x', record('path', 'b')), file), /'file' has a path both/u],
    [tarFrom(before('x', record('path', 'b')), before('L', 'a\0'), file), /'file' has a path both/u],
    [tarFrom(before('x', record('linkpath', 'b')), before('K', 'a\0'), file), /'file' has a linkpath both/u],
    ...['', '-1', '+1', ' 1', '0x10', '1e3', '1.0', '99999999999999999999'].map((size): [Buffer, RegExp] => [
      tarFrom(before('x', record('size', size)), file),
      /size that cannot be read/u,
    ]),
    // the second record's length leads back to the end of the first
    [tarFrom(before('x', `${record('a', 'b')}-5 c=d\n`), file), /pax records of a header cannot be read/u],
    [tarFrom(before('x', '0x9 a=bc\n'), file), /pax records of a header cannot be read/u],
    [tarFrom(header('file', '0', 0, { 257: 'ustar  \0', 345: 'etc' })), /number that cannot be read/u],
    [tarFrom(header('file', '0', 0, { 124: '12\u000034\0' })), /number that cannot be read/u],
  ];
  for (const [tar, message] of cases)
    await assert.rejects(check(tar), { code: 'ARCHIVE_INVALID', message }, String(message));
});

test("a header is read as Go's archive/tar reads it", () => {
  const read = (...blocks: Buffer[]): string[] => {
    const entries: string[] = [];
    const reader = new TarReader(({ name, type, size }) => entries.push(`${type} ${name} ${size}`));
    reader.write(tarFrom(...blocks));
    reader.end();
    return entries;
  };
  const file = header('file', '0', 0);
  const prefix = { 345: 'etc' };
  // of old tars: a folder has no content, whatever its size says
  assert.deepEqual(read(header('old/', '\0', 512), file), ['5 old/ 512', '0 file 0']);
  assert.deepEqual(read(header('old', '\0', 512), Buffer.alloc(512, 'x'), file), ['0 old 512', '0 file 0']);
  assert.deepEqual(read(before('x', record('path', 'long/')), header('old', '\0', 512), file), [
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
  assert.deepEqual(read(before('g', record('comment', 'of git archive')), file), ['0 file 0']);
});

test('sparse files are refused, however they are written', async (t) => {
  const directory = await scratchDirectory(t);
  await run('truncate', ['-s', '1M', join(directory, 'sparse')]);
  for (const format of ['gnu', 'pax']) {
    const file = join(directory, `${format}.tar`);
    await run('tar', ['--format', format, '--sparse', '-C', directory, '-cf', file, 'sparse']);
    await assert.rejects(check(await readFile(file)), { code: 'ARCHIVE_INVALID', message: /sparse/ });
  }
});
