import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { packTar } from 'modern-tar';
import type { Descriptor, ImageSource } from '../image-source.ts';
import { copyLayer } from './copy-layer.ts';

const digestOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

const gzip = 'application/vnd.oci.image.layer.v1.tar+gzip';
const zstd = 'application/vnd.oci.image.layer.v1.tar+zstd';
const plain = 'application/vnd.oci.image.layer.v1.tar';

/** Copies a layer of these bytes in chunks of `size` bytes, and expects its tar to be `tar`. */
async function copy(mediaType: string, blob: Uint8Array, tar: Uint8Array, size = 65_536): Promise<void> {
  const layer: Descriptor = { mediaType, digest: digestOf(blob), size: blob.length };
  async function* open(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < blob.length; at += size) yield blob.subarray(at, at + size);
  }
  const copied: Uint8Array[] = [];
  const add = async (type: string, source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) => {
    assert.equal(type, mediaType);
    for await (const chunk of source) copied.push(Buffer.from(chunk));
    return layer;
  };
  await copyLayer({ add }, { open } as unknown as ImageSource, layer, { diffId: digestOf(tar) });
  assert.deepEqual(Buffer.concat(copied), Buffer.from(blob));
}

/** Returns a skippable frame: a header with the length, and random bytes (RFC 8878, 3.1.2). */
function skippable(length: number, kind = 0): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(0x184d2a50 + kind, 0);
  header.writeUInt32LE(length, 4);
  return Buffer.concat([header, randomBytes(length)]);
}

/**
 * Returns a tar with compressible text, random bytes and one repeated byte: zstd has a type of block for
 * each.
 */
async function someTar(): Promise<Buffer> {
  const body = Buffer.concat([
    Buffer.from('text '.repeat(90_000)),
    randomBytes(300_000),
    Buffer.alloc(400_000),
  ]);
  return Buffer.from(await packTar([{ header: { name: 'usr/big', size: body.length }, body }]));
}

test('a layer is copied unchanged, with each compression and without one', async () => {
  const tar = await someTar();
  await copy(plain, tar, tar);
  await copy(gzip, gzipSync(tar), tar);
  await copy('application/vnd.docker.image.rootfs.diff.tar.gzip', gzipSync(tar), tar);
  await copy(zstd, zstdCompressSync(tar), tar);
  await assert.rejects(copy('application/vnd.oci.image.layer.v1.tar+xz', tar, tar), {
    code: 'IMAGE_INVALID',
    message: /an unknown media type: .*xz/,
  });
  await assert.rejects(copy(zstd, zstdCompressSync(tar), Buffer.from('other')), { code: 'DIGEST_MISMATCH' });
});

test('zstd in several frames is one layer, with skippable frames at any position', async () => {
  const tar = await someTar();
  const frames = [0, 65_536, 500_000, tar.length - 1, tar.length].map((start, index, all) =>
    zstdCompressSync(tar.subarray(start, all[index + 1]), index % 2 === 0 ? {} : { params: { 201: 1 } }),
  );
  const several = Buffer.concat(frames);
  const withSkippable = Buffer.concat([
    ...[skippable(0), skippable(100_000, 15)],
    ...frames.flatMap((frame, index) => [frame, skippable(index * 1000 + 1, index)]),
  ]);
  for (const blob of [several, withSkippable])
    for (const size of [4095, 65_536, blob.length]) await copy(zstd, blob, tar, size);
});

test('zstd that is truncated anywhere, damaged or followed by other bytes is refused', async () => {
  const tar = Buffer.from(await packTar([{ header: { name: 'etc/hosts', size: 1 }, body: 'h' }]));
  const one = zstdCompressSync(tar.subarray(512), { params: { 201: 1 } });
  const blob = Buffer.concat([zstdCompressSync(tar.subarray(0, 512)), skippable(9), one]);
  await copy(zstd, blob, tar, 3);
  const start = blob.length - one.length;
  const refused = (bytes: Buffer, message: RegExp, size: number): Promise<void> =>
    assert.rejects(copy(zstd, bytes, tar, size), { code: 'ARCHIVE_INVALID', message }, String(bytes.length));
  for (const size of [1, 65_536]) {
    // If the second frame has not begun, the error is a truncated tar.
    for (let length = 0; length < blob.length; length += 1)
      await refused(blob.subarray(0, length), /^layer sha256:.*(truncated|ends too early|no zstd)/, size);
    for (const behind of [
      'x',
      '\0',
      '\0\0\0\0',
      'garbage that is longer',
      '\x28\xb5',
      '\x50\x2a\x4d\x18\xff',
    ])
      await refused(
        Buffer.concat([blob, Buffer.from(behind, 'latin1')]),
        /^layer sha256:.*(after the end of the zstd stream|truncated)/,
        size,
      );
    const damaged = Buffer.from(blob);
    damaged[start + one.length - 1] = ~(damaged.at(-1) ?? 0) & 0xff;
    await refused(damaged, /damaged/, size);
    await refused(Buffer.from('no zstd at all'), /damaged|no zstd/, size);
  }
});

test('trailing bytes after the gzip stream are refused', async () => {
  const tar = await someTar();
  const blob = gzipSync(tar);
  for (const size of [65_536, blob.length])
    await assert.rejects(copy(gzip, Buffer.concat([blob, Buffer.alloc(300_000)]), tar, size), {
      code: 'ARCHIVE_INVALID',
      message: /^layer sha256:.*there is data after the end of the gzip stream/,
    });
  await copy(gzip, Buffer.concat([gzipSync(tar.subarray(0, 70)), gzipSync(tar.subarray(70))]), tar);
});
