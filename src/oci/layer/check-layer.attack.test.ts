import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { archiveLimits } from '../../bosh/archive/archive-limits.ts';
import type { ArchiveLimits } from '../../bosh/archive/archive-limits.ts';
import { header, tarFrom } from '../testing/tar-blocks.ts';
import { checkLayer } from './check-layer.ts';

const mebibyte = 1024 * 1024;
const compressions = [
  ['gzip', (tar: Buffer) => gzipSync(tar)],
  ['zstd', (tar: Buffer) => zstdCompressSync(tar)],
] as const;

/** Returns how many bytes of a layer were read until it was rejected with this message. */
async function readOf(
  packed: Buffer,
  compression: 'gzip' | 'zstd',
  { limits, message }: { readonly limits: Partial<ArchiveLimits>; readonly message: RegExp },
): Promise<number> {
  let read = 0;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < packed.length; at += 512) yield packed.subarray(at, (read = at + 512));
  }
  const layer = { bytes: bytes(), compression, label: 'layer', limits: { ...archiveLimits, ...limits } };
  const checking = checkLayer(layer, async (checked) => {
    for await (const chunk of checked) assert.ok(chunk.length <= 512);
  });
  await assert.rejects(checking, { code: 'ARCHIVE_INVALID', message });
  return read;
}

test('a layer of a few kilobytes that unpacks to many megabytes is refused before it is unpacked', async () => {
  const bomb = tarFrom(header('zeros', '0', 64 * mebibyte), Buffer.alloc(64 * mebibyte));
  for (const [compression, pack] of compressions) {
    const packed = pack(bomb);
    const message = /^layer: it unpacks to more than 1048576 bytes$/;
    const read = await readOf(packed, compression, { limits: { total: mebibyte }, message });
    assert.ok(read <= packed.length / 2, `${read} of ${packed.length} bytes of ${compression} were read`);
  }
});

test('a layer with too many entries or names is refused with gzip and with zstd', async () => {
  const many = tarFrom(...Array.from({ length: 50 }, (_, index) => header(`file-${index}`, '0', 0)));
  for (const [compression, pack] of compressions) {
    const entries = /^layer: its entry 'file-20' exceeds the limit of 20 entries$/;
    await readOf(pack(many), compression, { limits: { entries: 20 }, message: entries });
    const names = /^layer: its entry 'file-\d+' exceeds the limit of 100 characters for all names$/;
    await readOf(pack(many), compression, { limits: { names: 100 }, message: names });
  }
});

test('zstd that needs two gigabytes of memory is refused', async () => {
  const tar = tarFrom(header('file', '0', 0));
  // RFC 8878, 3.1.1: a frame without its size, and one raw block, which is the last.
  const block = Buffer.alloc(3);
  block.writeUIntLE((tar.length << 3) | 1, 0, 3);
  const frame = (windowLog: number): Buffer =>
    Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (windowLog - 10) << 3]), block, tar]);
  await readOf(frame(31), 'zstd', { limits: {}, message: /^layer is damaged or truncated: .*memory/iu });
  // Every decompressor must allow a window of 8 MiB.
  await readOf(frame(23), 'zstd', {
    limits: { entries: 0 },
    message: /'file' exceeds the limit of 0 entries/u,
  });
});
