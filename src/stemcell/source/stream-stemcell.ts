import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { text } from 'node:stream/consumers';
import { createTarDecoder, type ParsedTarEntry } from 'modern-tar';
import {
  archiveLimits,
  EntryCounter,
  limitedTo,
  printableName,
  type ArchiveLimits,
} from '../../bosh/archive/archive-limits.ts';
import { openForReading } from '../../bosh/archive/open-for-reading.ts';
import { entryName } from '../../bosh/archive/unpack-archive.ts';
import { type Digest, formatDigest, parseDigests, strongestDigest } from '../../bosh/digest.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { decompressed, isDecompressionError } from '../../oci/layer/decompressed.ts';
import { type StemcellManifest, parseStemcellManifest } from './stemcell-manifest.ts';

/** Usual manifests have some kilobytes. */
const manifestLimit = 1024 * 1024;

export interface PackedStemcell {
  readonly compression: 'none' | 'gzip' | 'zstd';
  /** Default: archiveLimits. */
  readonly limits?: ArchiveLimits;
}

/**
 * Reads a stemcell archive (.tgz, a plain tar, or a tar in zstd) as a stream, and passes its image on:
 * nothing is unpacked. `takeImage` must read the image to its end. Resolves after the image's digest was
 * verified against stemcell.MF, whichever of them comes first in the archive. ARCHIVE_INVALID,
 * STEMCELL_INVALID or DIGEST_MISMATCH name the archive and the cause.
 */
export async function streamStemcell<Result>(
  path: string,
  { compression, limits = archiveLimits }: PackedStemcell,
  takeImage: (bytes: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<{ readonly manifest: StemcellManifest; readonly image: Result }> {
  let manifest: StemcellManifest | undefined;
  let image: { readonly result: Result; readonly digests: readonly Digest[] } | undefined;
  try {
    await using file = await openForReading(path);
    const counter = new EntryCounter(limits);
    for await (const { header, body } of entriesOf(file, compression, limits.total)) {
      const beyond = counter.add(header.name, header.linkname ?? '');
      if (beyond !== undefined) throw invalid(`has an entry '${printableName(header.name)}' that ${beyond}`);
      const name = entryName(header.name);
      if (header.type !== 'file' || (name !== 'stemcell.MF' && name !== 'image')) {
        await body.cancel();
      } else if (name === 'stemcell.MF') {
        if (manifest !== undefined) throw invalid('has two files stemcell.MF');
        manifest = await readManifest(header.size, body);
      } else {
        if (image !== undefined) throw invalid('has two images');
        if (header.size === 0)
          throw invalid('is a light stemcell: it names an image that is already in a registry');
        image = await take(body, takeImage);
      }
    }
  } catch (error) {
    throw explain(path, error);
  }
  if (manifest === undefined) throw explain(path, invalid('has no stemcell.MF'));
  if (image === undefined) throw explain(path, invalid('has no image'));
  verify(path, manifest, image.digests);
  return { manifest, image: image.result };
}

async function readManifest(size: number, body: ParsedTarEntry['body']): Promise<StemcellManifest> {
  if (size > manifestLimit) throw invalid(`has a stemcell.MF of ${size} bytes`);
  return parseStemcellManifest(await text(body as ReadableStream));
}

function entriesOf(
  opened: FileHandle,
  compression: PackedStemcell['compression'],
  total: number,
): AsyncIterable<ParsedTarEntry> {
  const file = opened.createReadStream({ highWaterMark: 1 << 16, autoClose: false });
  const limited = limitedTo(total, (excess) => invalid(`unpacks to ${excess}`));
  return decoded(Readable.from(limited(decompressed(file, compression, 'it')), { objectMode: false }));
}

function decoded(plain: Readable): AsyncIterable<ParsedTarEntry> {
  const web = Readable.toWeb(plain) as unknown as globalThis.ReadableStream<Uint8Array>;
  return web.pipeThrough(createTarDecoder({ strict: true }));
}

async function take<Result>(
  body: AsyncIterable<Uint8Array>,
  takeImage: (bytes: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<{ result: Result; digests: readonly Digest[] }> {
  const algorithms = ['sha1', 'sha256', 'sha512'] as const;
  const hashes = algorithms.map((algorithm) => ({ algorithm, hash: createHash(algorithm) }));
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      for (const { hash } of hashes) hash.update(chunk);
      yield chunk;
    }
  }
  const result = await takeImage(hashed());
  return { result, digests: hashes.map(({ algorithm, hash }) => ({ algorithm, hex: hash.digest('hex') })) };
}

/** stemcell.MF uses the key sha1 for every algorithm (bosh-utils: crypto/multiple_digest.go). */
function verify(path: string, manifest: StemcellManifest, digests: readonly Digest[]): void {
  const expected = strongestDigest(parseDigests(manifest.digest));
  const found = digests.find(({ algorithm }) => algorithm === expected.algorithm);
  if (found?.hex === expected.hex) return;
  throw new ProductError(
    'DIGEST_MISMATCH',
    `'${path}': its image has the digest ${found === undefined ? 'unknown' : formatDigest(found)}, but stemcell.MF has ${formatDigest(expected)}; the archive is damaged or was changed`,
  );
}

const invalid = (reason: string): ProductError => new ProductError('STEMCELL_INVALID', reason);

function explain(path: string, error: unknown): unknown {
  if (isProductError(error))
    return new ProductError(error.code, `'${path}' ${error.message}`, { cause: error });
  if (!(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (code !== '' && !isDecompressionError(error)) return error;
  return new ProductError('ARCHIVE_INVALID', `'${path}' is damaged or truncated: ${error.message}`, {
    cause: error,
  });
}
