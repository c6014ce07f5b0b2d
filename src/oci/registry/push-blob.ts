import { type BlobSource, BlobUpload, type LostUpload, type UploadOutcome } from './blob-upload.ts';
import { isTransient } from './http/retry.ts';
import type { RegistryClient, RepositoryRequest } from './registry-client.ts';

export interface PushOptions {
  /** Repositories of the same registry that may have the blob already. */
  readonly mountFrom: readonly string[];
  /** Bytes of a chunk. A blob that fits in one chunk is sent whole. */
  readonly chunkBytes: number;
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
  const mounted = await mountOrStart(client, digest, options.mountFrom);
  if (mounted === 'mounted') return 'mounted';
  let upload = mounted;
  let inChunks = size > options.chunkBytes;
  for (let starts = 1; ; starts += 1) {
    let outcome: UploadOutcome | undefined;
    try {
      outcome = await (inChunks
        ? upload.sendChunks(source, options.chunkBytes)
        : upload.sendWhole(source, options.chunkBytes));
      // The bytes may have arrived although the response did not.
      if (outcome.kind === 'lost' && (await hasBlob(client, digest))) return 'uploaded';
    } finally {
      // Otherwise the registry keeps the received bytes until it purges unfinished uploads.
      if (outcome?.kind !== 'done') await upload.cancel();
    }
    if (outcome.kind === 'done') return 'uploaded';
    if (starts >= maxUploadAttempts) throw outcome.error;
    if (outcome.kind === 'refuses chunks') inChunks = false;
    else await backoff(client, outcome, starts);
    upload = await BlobUpload.start(client, digest);
  }
}

/**
 * Mounts the blob from the first repository that has it, or starts an upload: a registry that does not mount
 * has started one.
 */
async function mountOrStart(
  client: RegistryClient,
  digest: string,
  repositories: readonly string[],
): Promise<BlobUpload | 'mounted'> {
  let upload: BlobUpload | undefined;
  for (const from of repositories.filter((name) => name !== client.repository)) {
    let outcome: BlobUpload | 'mounted' | 'refused' | undefined;
    try {
      outcome = await BlobUpload.mount(client, digest, from);
    } finally {
      if (outcome !== 'refused') await upload?.cancel();
    }
    if (outcome === 'mounted') return outcome;
    if (outcome !== 'refused') upload = outcome;
  }
  return upload ?? BlobUpload.start(client, digest);
}

/**
 * Waits before the upload is started again. Throws after too many tries, or if Retry-After is longer than a
 * minute.
 */
async function backoff(client: RegistryClient, { error, reason }: LostUpload, tries: number): Promise<void> {
  const isUnknown = 'status' in reason && !isTransient(reason.status);
  // The registry has lost the upload, but works: start a new one at once.
  if (isUnknown) return;
  if (!(await client.retries.waitForRetry(reason, tries))) throw error;
}

/** Returns whether the repository has the blob. */
export async function hasBlob(client: RegistryClient, digest: string): Promise<boolean> {
  const request: RepositoryRequest = { method: 'HEAD', path: `blobs/${digest}`, operation: `blob ${digest}` };
  const answer = await client.request(request);
  if (answer.status === 404) return false;
  // A registry may serve its blobs from another place; it has the blob then, too.
  if (answer.status === 200 || answer.status === 307 || answer.status === 302) return true;
  throw client.error(answer, request.operation);
}
