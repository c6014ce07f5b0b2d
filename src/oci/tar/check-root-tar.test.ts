import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkRoot, packRoot, type RootEntry } from '../testing/root-tar.ts';

/**
 * Returns a device node, which the packer cannot write: it changes type and numbers of another header, and
 * its checksum.
 */
async function deviceNode(name: string, type: string, major: number, minor: number): Promise<Buffer> {
  const tar = await packRoot({ name });
  tar.write(type, 156);
  tar.write(`${major.toString(8).padStart(7, '0')}\0${minor.toString(8).padStart(7, '0')}\0`, 329);
  tar.fill(' ', 148, 156);
  const sum = tar.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return tar;
}

test('a root is passed on byte for byte, in chunks of any size', async () => {
  const tar = await packRoot(
    { name: './', type: 'directory' },
    { name: './etc/passwd', body: 'root:x:0:0' },
    { name: './etc/mtab', type: 'symlink', linkname: '/proc/self/mounts' },
    { name: './bin/first', body: 'first' },
    { name: './bin/second', type: 'link', linkname: './bin/first' },
    { name: `${'long/'.repeat(60)}name`, body: 'x'.repeat(2000) },
  );
  for (const size of [1, 7, 511, 512, 513, 100_000]) assert.deepEqual(await checkRoot(tar, size), tar);
});

test('an entry outside of the root is refused by name', async () => {
  const cases: readonly [Buffer, RegExp][] = [
    [await packRoot({ name: '../etc/passwd' }), /root\.tar: its entry '\.\.\/etc\/passwd' lies outside/],
    [await packRoot({ name: 'a/../../b' }), /outside of the root/],
    [await packRoot({ name: '/etc/passwd' }), /'\/etc\/passwd' lies outside/],
    [
      await packRoot({ name: 'a', type: 'link', linkname: '../../etc/shadow' }),
      /hard link to '\.\.\/\.\.\/etc\/shadow'/,
    ],
    [await packRoot({ name: 'a', type: 'link', linkname: '/etc/shadow' }), /hard link/],
    [
      await packRoot({ name: 'a', type: 'symlink', linkname: '/etc' }, { name: './a/passwd' }),
      /below the symbolic link 'a'/,
    ],
    [await packRoot({ name: 'etc/.wh.passwd' }), /deletion/],
    [await deviceNode('root/sda', '4', 8, 0), /device node \(block 8:0\)/],
    [await deviceNode('tmp/null', '3', 1, 3), /device node \(character 1:3\)/],
    [await deviceNode('dev/null', '3', 1, 1), /device node \(character 1:1\)/],
    [await deviceNode('odd', 'V', 0, 0), /of a type \('V'\)/],
  ];
  for (const [tar, message] of cases)
    await assert.rejects(checkRoot(tar), { code: 'ARCHIVE_INVALID', message }, String(message));
});

test('a hard link must stay inside the root too, through any symbolic links', async () => {
  const outside: RootEntry = { name: 's', type: 'symlink', linkname: '../../../../etc' };
  const absolute: RootEntry = { name: 's', type: 'symlink', linkname: '/etc' };
  const cases: readonly [RootEntry[], RegExp][] = [
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
      await assert.rejects(checkRoot(await packRoot(...entries), 1000, { isUpper }), {
        code: 'ARCHIVE_INVALID',
        message,
      });
});

test('a hard link to a missing target is refused, unless the target may be in another layer', async () => {
  const file: RootEntry = { name: './usr/bin/file', body: 'x' };
  const hard = (name: string, linkname: string): RootEntry => ({ name, type: 'link', linkname });
  await checkRoot(await packRoot(file, hard('a', 'usr/bin/file'), hard('b', './a')));
  for (const entries of [
    [hard('a', 'none')],
    [hard('a', 'usr/bin/file'), file],
    [file, hard('a', 'usr/bin')],
    [hard('a', 'a')],
    [{ name: 'd', type: 'directory' } as RootEntry, hard('a', 'd')],
    [file, { name: './usr/bin/file', type: 'directory' } as RootEntry, hard('a', 'none')],
  ]) {
    const tar = await packRoot(...entries);
    await assert.rejects(checkRoot(tar), {
      code: 'ARCHIVE_INVALID',
      message: /entry 'a' is a hard link to '.*', which is not an earlier file/,
    });
    await checkRoot(tar, 1000, { isUpper: true });
  }
});

test('device nodes of a container are allowed', async () => {
  await checkRoot(await deviceNode('./dev/null', '3', 1, 3));
  await checkRoot(await deviceNode('dev/console', '3', 5, 1));
});

test('a link that is replaced by a directory holds files', async () => {
  await checkRoot(
    await packRoot(
      { name: 'a', type: 'symlink', linkname: '/etc' },
      { name: 'a', type: 'directory' },
      { name: 'a/b', body: 'b' },
    ),
  );
});

test('a tar that is truncated, or has a damaged header, is refused', async () => {
  const tar = await packRoot(
    { name: 'etc/hosts', body: 'h'.repeat(700) },
    { name: 'etc/link', type: 'symlink', linkname: 'hosts' },
  );
  for (let length = 0; length < tar.length - 1023; length += 64)
    await assert.rejects(checkRoot(tar.subarray(0, length)), { code: 'ARCHIVE_INVALID' }, String(length));
  await assert.rejects(checkRoot(Buffer.concat([tar, Buffer.from('more')])), { message: /after the end/ });
  await fc.assert(
    fc.asyncProperty(fc.nat(147), fc.nat(255), async (offset, value) => {
      const damaged = Buffer.from(tar);
      damaged[offset] = value;
      if (damaged.equals(tar)) return;
      await assert.rejects(checkRoot(damaged), { code: 'ARCHIVE_INVALID' });
    }),
  );
});

test('property: any bytes end in one error', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 3000 }), async (bytes) => {
      if (bytes.every((byte) => byte === 0)) return;
      await assert.rejects(checkRoot(Buffer.from(bytes)), { code: 'ARCHIVE_INVALID' });
    }),
  );
});
