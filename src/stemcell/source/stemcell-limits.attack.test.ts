import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { packTar } from 'modern-tar';
import { archiveLimits, type ArchiveLimits } from '../../bosh/archive/archive-limits.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { header, tarFrom } from '../../oci/testing/tar-blocks.ts';
import { lookAlikeStemcell } from '../testing/look-alike.ts';
import { findKind } from './detect-source-kind.ts';
import { streamStemcell } from './stream-stemcell.ts';

const mebibyte = 1024 * 1024;
const packs = [
  ['none', (tar: Buffer) => tar],
  ['gzip', (tar: Buffer) => gzipSync(tar)],
  ['zstd', (tar: Buffer) => zstdCompressSync(tar)],
] as const;
const limited = (limits: Partial<ArchiveLimits>): ArchiveLimits => ({ ...archiveLimits, ...limits });

test('a file whose kind shows only after many megabytes is refused', async (t) => {
  const path = join(await scratchDirectory(t), 'bomb');
  const blob = `blobs/sha256/${'a'.repeat(64)}`;
  const bomb = tarFrom(header(blob, '0', 8 * mebibyte), Buffer.alloc(8 * mebibyte), header('image', '0', 0));
  for (const [, pack] of packs) {
    await writeFile(path, pack(bomb));
    await assert.rejects(findKind(path, limited({ total: mebibyte })), {
      code: 'ARCHIVE_INVALID',
      message: /bomb' is neither a stemcell .*: it unpacks to more than 1048576 bytes$/,
    });
  }
});

test('a stemcell archive with too many bytes, entries or names is refused', async (t) => {
  const directory = await scratchDirectory(t);
  const path = join(directory, 'bomb');
  const plain = await readFile(await lookAlikeStemcell(directory, { isPlain: true }));
  const more = await packTar(
    Array.from({ length: 30 }, (_, index) => ({
      header: { name: `file-${index}`, size: 4096 },
      body: 'x'.repeat(4096),
    })),
  );
  const tar = Buffer.concat([Buffer.from(more).subarray(0, 30 * (512 + 4096)), plain]);
  for (const [compression, pack] of packs) {
    await writeFile(path, pack(tar));
    const stream = (limits: Partial<ArchiveLimits>): Promise<unknown> =>
      streamStemcell(path, { compression, limits: limited(limits) }, async (bytes) => {
        for await (const chunk of bytes) assert.ok(chunk.length > 0);
      });
    await stream({});
    for (const [limits, message] of [
      [{ total: 100_000 }, /bomb' unpacks to more than 100000 bytes/],
      [{ entries: 20 }, /bomb' has an entry 'file-20' that exceeds the limit of 20 entries/],
      [{ names: 100 }, /bomb' has an entry 'file-\d+' that exceeds the limit of 100 characters/],
    ] as const)
      await assert.rejects(stream(limits), { code: 'STEMCELL_INVALID', message }, compression);
  }
});
