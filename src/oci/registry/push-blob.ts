import { isPassing, retryDelay } from './http/retry.ts';
import type { RegistryClient } from './registry-client.ts';
import {
  type LostUpload,
  type Upload,
  type UploadOutcome,
  cancelUpload,
  mountBlob,
  startUpload,
  uploadInPieces,
  uploadWhole,
} from './blob-upload.ts';
import type { Descriptor } from '../image-source.ts';

export interface PushOptions {
  /** Repositories of the same registry that may have the blob already. */
  readonly mountFrom: readonly string[];
  /** Bytes of a chunk. A blob that fits in one chunk is sent whole. */
  readonly pieceSize: number;
}

export type Pushed = 'present' | 'mounted' | 'uploaded';

/** How often an upload that the registry has lost is started from the first byte. */
const maxUploadAttempts = 4;

/**
 * Puts a blob into a repository. Sends nothing if the blob exists. Otherwise mounts it from another
 * repository, uploads it in chunks, or uploads it whole if the registry accepts no chunks. Rejects with the
 * source's error or the registry's. An upload that was not completed is canceled.
 */
export async function pushBlob(
  client: RegistryClient,
  source: BlobSource,
  options: PushOptions,
): Promise<Pushed> {
  const { digest, size } = source.descriptor;
  if (await hasBlob(client, digest)) return 'present';
  const begun = await mount(client, digest, options.mountFrom);
  if (begun === 'mounted') return 'mounted';
  let upload = begun;
  let send = size <= options.pieceSize ? uploadWhole : uploadInPieces;
  for (let starts = 1; ; starts += 1) {
    let outcome: UploadOutcome | undefined;
    try {
      outcome = await send(client, upload, source, options.pieceSize);
      // The bytes may have arrived although the response did not.
      if (outcome.kind === 'lost' && (await hasBlob(client, digest))) return 'uploaded';
    } finally {
      // Otherwise the registry keeps the received bytes until it purges unfinished uploads.
      if (outcome?.kind !== 'done') await cancelUpload(client, upload);
    }
    if (outcome.kind === 'done') return 'uploaded';
    if (starts >= maxUploadAttempts) throw outcome.error;
    if (outcome.kind === 'takes no pieces') send = uploadWhole;
    else await backoff(client, outcome, starts);
    upload = await startUpload(client, digest);
  }
}

/**
 * Mounts the blob from the first repository that has it, or starts an upload: a registry that does not mount
 * has started one.
 */
async function mount(
  client: RegistryClient,
  digest: string,
  repositories: readonly string[],
): Promise<Upload | 'mounted'> {
  let upload: Upload | undefined;
  for (const from of repositories.filter((name) => name !== client.repository)) {
    let outcome: Upload | 'mounted' | 'refused' | undefined;
    try {
      outcome = await mountBlob(client, digest, from);
    } finally {
      if (upload !== undefined && outcome !== 'refused') await cancelUpload(client, upload);
    }
    if (outcome === 'mounted') return outcome;
    if (outcome !== 'refused') upload = outcome;
  }
  return upload ?? startUpload(client, digest);
}

/**
 * Waits before the upload is started again. Throws after too many tries, or if Retry-After is longer than a
 * minute.
 */
async function backoff(client: RegistryClient, outcome: LostUpload, tries: number): Promise<void> {
  const { now, random, sleep } = client.patience;
  const { setback } = outcome;
  const isForgotten = 'status' in setback && !isPassing(setback.status);
  // The registry does not know the upload, but works: start a new one at once.
  if (isForgotten) return;
  const delay = retryDelay({ setback, tries, now: now(), random: random() });
  if (delay === undefined) throw outcome.error;
  await sleep(delay);
}

/** Returns whether the repository has the blob. */
export async function hasBlob(client: RegistryClient, digest: string): Promise<boolean> {
  const call = { method: 'HEAD', path: `blobs/${digest}`, what: `blob ${digest}` } as const;
  const answer = await client.call(call);
  if (answer.status === 404) return false;
  // A registry may serve its blobs from another place; it has the blob then, too.
  if (answer.status === 200 || answer.status === 307 || answer.status === 302) return true;
  throw client.error(answer, call.what);
}

/** A blob that can be read from its start again, each time an upload begins again. */
export interface BlobSource {
  readonly descriptor: Descriptor;
  /**
   * The bytes are verified: the iteration ends with an error if they do not match the descriptor
   * (blob/verify-blob.ts).
   */
  open(): AsyncIterable<Uint8Array>;
}

/** A chunk of a blob. Its bytes are valid until the next chunk is requested. */
export interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/**
 * Splits a blob into chunks of `size` bytes, in one buffer that is reused. The last chunk is returned only
 * after the source has ended without an error, so that an upload of damaged bytes cannot be completed.
 */
export async function* chunksOf(source: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Chunk> {
  const buffer = Buffer.allocUnsafe(size);
  let start = 0;
  let filled = 0;
  for await (const chunk of source) {
    let rest = chunk;
    while (rest.length > 0) {
      if (filled === size) {
        yield { start, bytes: buffer };
        start += size;
        filled = 0;
      }
      const taken = rest.subarray(0, size - filled);
      buffer.set(taken, filled);
      filled += taken.length;
      rest = rest.subarray(taken.length);
    }
  }
  if (filled > 0) yield { start, bytes: buffer.subarray(0, filled) };
}
