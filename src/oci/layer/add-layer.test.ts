import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { packTar } from 'modern-tar';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { layoutPaths } from '../layout/open-layout.ts';
import { type BlobWriter, blobWriter } from '../layout/write-blob.ts';
import { addPackedLayer, addTarLayer } from './add-layer.ts';

const digestOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Returns the chunks in one buffer that is reused, as files are read (../blob.ts). */
async function* inChunks(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(size);
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = bytes.subarray(at, at + size);
    buffer.set(chunk);
    yield buffer.subarray(0, chunk.length);
  }
}

/** Returns a tar with two megabytes that do not compress, so that back pressure occurs. */
async function rootTar(): Promise<Uint8Array> {
  const body = randomBytes(2_000_000);
  return packTar([{ header: { name: 'usr/big', size: body.length }, body }]);
}

async function layoutDirectory(t: TestContext): Promise<{ directory: string; blobs: BlobWriter }> {
  const directory = await scratchDirectory(t);
  await mkdir(layoutPaths.blobs(directory), { recursive: true });
  return { directory, blobs: blobWriter(directory) };
}

test('a tar becomes a compressed layer with both digests', async (t) => {
  const { directory, blobs } = await layoutDirectory(t);
  const tar = await rootTar();
  const { descriptor, diffId } = await addTarLayer(blobs, { bytes: inChunks(tar), label: 'root.tar' });
  const blob = await readFile(layoutPaths.blob(directory, descriptor.digest));
  assert.equal(diffId, digestOf(tar));
  assert.equal(descriptor.digest, digestOf(blob));
  assert.equal(descriptor.size, blob.length);
  assert.equal(digestOf(gunzipSync(blob)), diffId);
  const again = await addTarLayer(blobs, { bytes: inChunks(tar), label: 'root.tar' });
  assert.deepEqual(again.descriptor, descriptor);
});

test('a compressed tar is unchanged', async (t) => {
  const { directory, blobs } = await layoutDirectory(t);
  const tar = await rootTar();
  const packed = gzipSync(tar);
  const { descriptor, diffId } = await addPackedLayer(blobs, {
    bytes: inChunks(packed),
    label: 'image',
    path: 'image',
  });
  assert.equal(diffId, digestOf(tar));
  assert.equal(descriptor.digest, digestOf(packed));
  assert.deepEqual(await readFile(layoutPaths.blob(directory, descriptor.digest)), packed);
});

test('several concatenated gzip members are one layer', async (t) => {
  const { blobs } = await layoutDirectory(t);
  const tar = await rootTar();
  const packed = Buffer.concat([gzipSync(tar.subarray(0, 999)), gzipSync(tar.subarray(999))]);
  for (const size of [4096, gzipSync(tar.subarray(0, 999)).length, packed.length]) {
    const { diffId } = await addPackedLayer(blobs, {
      bytes: inChunks(packed, size),
      label: 'image',
      path: 'image',
    });
    assert.equal(diffId, digestOf(tar), `in chunks of ${size}`);
  }
});

test('a tar in zstd is unchanged, in one or more frames and in chunks of any size', async (t) => {
  const { directory, blobs } = await layoutDirectory(t);
  const tar = await rootTar();
  const frames = [tar.subarray(0, 999), tar.subarray(999)].map((part) => zstdCompressSync(part));
  for (const [packed, size] of [
    [zstdCompressSync(tar), 65_536],
    [Buffer.concat(frames), 100_003],
  ] as const) {
    const source = { bytes: inChunks(packed, size), label: 'image', path: 'image' };
    const { descriptor, diffId } = await addPackedLayer(blobs, source);
    assert.equal(descriptor.mediaType, 'application/vnd.oci.image.layer.v1.tar+zstd');
    assert.equal(diffId, digestOf(tar));
    assert.deepEqual(await readFile(layoutPaths.blob(directory, descriptor.digest)), packed);
  }
  const cut = addPackedLayer(blobs, { bytes: inChunks(frames[0] ?? tar, 1), label: 'image', path: 'image' });
  await assert.rejects(cut, { code: 'ARCHIVE_INVALID', message: /^image: the tar is truncated/ });
});

test('a layer in xz or bzip2 is named, with the command that repacks it', async (t) => {
  const { blobs } = await layoutDirectory(t);
  for (const [start, name, file] of [
    ['fd377a585a000004', 'xz', 'a b.xz'],
    ['425a683931415926', 'bzip2', 'a b.bz2'],
  ] as const)
    for (const size of [2, 1000]) {
      const bytes = inChunks(Buffer.concat([Buffer.from(start, 'hex'), randomBytes(100)]), size);
      await assert.rejects(addPackedLayer(blobs, { bytes, label: 'image', path: `root/${file}` }), {
        code: 'ARCHIVE_INVALID',
        message: `image is compressed with ${name}, which is not supported. Repack it: ${name} -dc 'root/${file}' | gzip > 'root/a b.gz'`,
      });
    }
});

test('trailing bytes after the gzip stream are refused, as by containerd, at each position in a chunk', async (t) => {
  const { directory, blobs } = await layoutDirectory(t);
  const packed = gzipSync(await packTar([{ header: { name: 'etc/hosts', size: 1 }, body: 'h' }]));
  for (const behind of [Buffer.alloc(1), Buffer.alloc(512), Buffer.alloc(200_000)])
    for (const more of [Buffer.alloc(0), packed])
      for (const size of [1, packed.length, packed.length + 1, 65_536].filter(
        (each) => each > 1 || behind.length < 1000,
      ))
        await assert.rejects(
          addPackedLayer(blobs, {
            bytes: inChunks(Buffer.concat([packed, behind, more]), size),
            ...{ label: 'image', path: 'image' },
          }),
          { code: 'ARCHIVE_INVALID', message: /^image: there is data after the end of the gzip stream/ },
          `${behind.length} zeros, ${more.length} more, in chunks of ${size}`,
        );
  assert.deepEqual(await readdir(layoutPaths.blobs(directory)), []);
});

test('a damaged, truncated or dangerous tar leaves no blob', async (t) => {
  const { directory, blobs } = await layoutDirectory(t);
  const packed = gzipSync(await rootTar());
  const damaged = Buffer.from(packed);
  damaged.fill(0, 1000, 1100);
  const dangerous = await packTar([{ header: { name: '../x', size: 1 }, body: 'x' }]);
  const cases: readonly [Uint8Array, RegExp][] = [
    [packed.subarray(0, packed.length - 9), /image is damaged or truncated/],
    [packed.subarray(0, 70_000), /image is damaged or truncated/],
    [damaged, /image is damaged or truncated/],
    [Buffer.from('no gzip at all'), /image is damaged or truncated/],
    [Buffer.alloc(0), /image/],
    [gzipSync(dangerous), /image: its entry '\.\.\/x'/],
    [gzipSync(Buffer.concat([dangerous, randomBytes(3_000_000)])), /image: its entry '\.\.\/x'/],
  ];
  for (const [bytes, message] of cases) {
    const adding = addPackedLayer(blobs, { bytes: inChunks(bytes), label: 'image', path: 'image' });
    await assert.rejects(adding, { code: 'ARCHIVE_INVALID', message }, String(message));
  }
  await assert.rejects(addTarLayer(blobs, { bytes: inChunks(dangerous), label: 'root.tar' }), {
    code: 'ARCHIVE_INVALID',
  });
  assert.deepEqual(await readdir(layoutPaths.blobs(directory)), []);
});

const noSpace = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

const fullDisks: Readonly<Record<string, BlobWriter['add']>> = {
  'at the start': () => Promise.reject(noSpace),
  'in the middle': async (_, source) => {
    let size = 0;
    for await (const chunk of source) {
      size += chunk.length;
      if (size > 500_000) throw noSpace;
    }
    throw new Error('all of it was written');
  },
  'in the middle, before the input ends': async (_, source) => {
    const { done } = await stubborn(source).next();
    throw done === true ? new Error('nothing was written') : noSpace;
  },
  'at the end': async (_, source) => {
    for await (const chunk of source) assert.ok(chunk.length > 0);
    throw noSpace;
  },
};

/** Returns an iterator without `return`: the source does not learn that the reader has stopped. */
function stubborn(source: Parameters<BlobWriter['add']>[1]): AsyncIterator<Uint8Array> {
  const iterator =
    Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  return { next: async () => iterator.next() };
}

for (const [when, add] of Object.entries(fullDisks))
  test(`a disk that is full ${when} causes the error, and ends the reading`, async () => {
    const tar = await rootTar();
    const sources = [
      (bytes: AsyncIterable<Uint8Array>) => addTarLayer({ add }, { bytes, label: 'root.tar' }),
      (bytes: AsyncIterable<Uint8Array>) => addPackedLayer({ add }, { bytes, label: 'image', path: 'image' }),
    ];
    for (const [index, take] of sources.entries())
      await assert.rejects(take(inChunks(index === 0 ? tar : gzipSync(tar))), (error) => error === noSpace);
  });
