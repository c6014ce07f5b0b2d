import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { test } from 'node:test';
import { scratchDirectory } from './testing/scratch.ts';
import {
  formatDigest,
  parseDigests,
  strongestDigest,
  type DigestAlgorithm,
  digestOfFile,
  verifyingStream,
  verifyFile,
} from './digest.ts';

const algorithms = ['sha1', 'sha256', 'sha512'] as const satisfies DigestAlgorithm[];
const digest = fc.tuple(fc.constantFrom(...algorithms), fc.uint8Array()).map(([algorithm, bytes]) => ({
  algorithm,
  hex: createHash(algorithm).update(bytes).digest('hex'),
}));

test('property: a digest is read back as it was written', () => {
  fc.assert(
    fc.property(fc.array(digest, { minLength: 1 }), (digests) => {
      assert.deepEqual(parseDigests(digests.map(formatDigest).join(';')), digests);
    }),
  );
});

test('hex may be upper case', () => {
  const [parsed] = parseDigests('DA39A3EE5E6B4B0D3255BFEF95601890AFD80709');
  assert.equal(formatDigest(parsed), 'da39a3ee5e6b4b0d3255bfef95601890afd80709');
});

test('the strongest of several digests decides', () => {
  const weak = { algorithm: 'sha1', hex: 'a' } as const;
  const strong = { algorithm: 'sha512', hex: 'b' } as const;
  assert.equal(strongestDigest([weak, strong, { algorithm: 'sha256', hex: 'c' }]), strong);
});

test('an invalid digest is refused', () => {
  const bad = [
    '',
    ';',
    'abc',
    'sha256:',
    'sha256:abcd',
    'md5:d41d8cd98f00b204e9800998ecf8427e',
    `sha1:${'g'.repeat(40)}`,
  ];
  for (const text of bad) {
    assert.throws(() => parseDigests(text), { code: 'DIGEST_INVALID' }, text);
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        parseDigests(text);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'DIGEST_INVALID');
      }
    }),
  );
});

test('a file is verified against any form of digest', async (t) => {
  const path = join(await scratchDirectory(t), 'file');
  const content = Buffer.alloc(3_000_000, 'bosh');
  await writeFile(path, content);
  for (const algorithm of algorithms) {
    const hex = createHash(algorithm).update(content).digest('hex');
    const text = formatDigest({ algorithm, hex });
    assert.equal(await digestOfFile(path, algorithm), text);
    await verifyFile(path, text);
  }
});

test('a mismatch names the file and both digests', async (t) => {
  const path = join(await scratchDirectory(t), 'file');
  await writeFile(path, 'changed');
  const found = await digestOfFile(path);
  const expected = `sha256:${'0'.repeat(64)}`;
  await assert.rejects(
    verifyFile(path, `${'1'.repeat(40)};${expected}`),
    (error: Error & { code?: string }) => {
      assert.equal(error.code, 'DIGEST_MISMATCH');
      for (const part of [path, found, expected]) assert.ok(error.message.includes(part), part);
      return true;
    },
  );
});

test('a missing file is named', async (t) => {
  const path = join(await scratchDirectory(t), 'missing');
  await assert.rejects(digestOfFile(path), { code: 'FILE_NOT_FOUND', message: new RegExp(path) });
});

test('a stream is verified against its digest', async () => {
  const pass = (bytes: string, expected: string) =>
    textOf(verifyingStream(Readable.from([Buffer.from('a'), Buffer.from(bytes)]), 'f', expected));
  const sha256 = `sha256:${createHash('sha256').update('ab').digest('hex')}`;
  assert.equal(await pass('b', sha256), 'ab');
  await assert.rejects(pass('c', sha256), { code: 'DIGEST_MISMATCH', message: /^'f' has the digest/ });
});
