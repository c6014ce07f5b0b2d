import { ProductError, isProductError } from '../../errors/product-error.ts';
import { type RegistryAnswer, ConnectionFailure, bytesBody } from './http/registry-transport.ts';
import { type Setback, isPassing, setbackOf, retryDelay } from './http/retry.ts';
import type { Call, RegistryClient } from './registry-client.ts';
import { errorCodes } from './registry-error.ts';
import { type BlobSource, chunksOf, type Chunk } from './push-blob.ts';

/** An upload that the registry has started. */
export interface Upload {
  location: URL;
  /** The smallest chunk that the registry accepts, except for the last one; absent: any size. */
  readonly smallestPiece: number | undefined;
}

/** The registry does not know the upload any more, or its position is unknown. */
export interface LostUpload {
  readonly kind: 'lost';
  readonly error: ProductError;
  readonly setback: Setback;
}

/** How an upload ended. */
export type UploadOutcome =
  | { readonly kind: 'done' }
  | LostUpload
  | { readonly kind: 'takes no pieces'; readonly error: ProductError };

/** Starts an upload. */
export async function startUpload(client: RegistryClient, digest: string): Promise<Upload> {
  const call: Call = { method: 'POST', path: 'blobs/uploads/', what: `upload of ${digest}` };
  const answer = await client.call(call);
  if (answer.status !== 202) throw client.error(answer, call.what);
  return uploadOf(client, answer, call);
}

/**
 * Mounts a blob of another repository into this one, if that repository has it and the user may read it.
 * Otherwise the registry has started an upload, or has rejected the request: a user who may not read the
 * other repository may still push to this one.
 */
export async function mountBlob(
  client: RegistryClient,
  digest: string,
  from: string,
): Promise<Upload | 'mounted' | 'refused'> {
  const call: Call = {
    method: 'POST',
    path: `blobs/uploads/?mount=${digest}&from=${encodeURIComponent(from)}`,
    what: `mount of ${digest} from ${from}`,
    from,
  };
  try {
    const answer = await client.call(call);
    if (answer.status === 201) return 'mounted';
    return answer.status === 202 ? uploadOf(client, answer, call) : 'refused';
  } catch (error) {
    // The token server rejects a token for both repositories as a whole, or gives it fewer rights than
    // requested.
    if (!isProductError(error, 'REGISTRY_UNAUTHORIZED')) throw error;
    return 'refused';
  }
}

function uploadOf(client: RegistryClient, answer: RegistryAnswer, call: Call): Upload {
  const smallest = answer.headers['oci-chunk-min-length'] ?? '';
  return {
    location: client.location(answer, call),
    smallestPiece: /^\d{1,12}$/u.test(smallest) ? Number(smallest) : undefined,
  };
}

/**
 * Returns the URL that completes an upload. The registry's own query may be signed, so it is kept byte by
 * byte.
 */
export function withDigest(location: URL, digest: string): URL {
  const url = new URL(location);
  const parameter = `digest=${encodeURIComponent(digest)}`;
  url.search = url.search === '' ? parameter : `${url.search}&${parameter}`;
  return url;
}

/**
 * Cancels an upload, also after the caller's signal. If a registry cannot do that, does not respond or does
 * not allow it, it purges the upload by itself after a while. This must neither be an error nor hide the
 * reason of the cancellation.
 */
export async function cancelUpload(client: RegistryClient, { location }: Upload): Promise<void> {
  try {
    // distribution requires the right to delete for it.
    const actions = 'pull,delete';
    await client.requestForCleanup({ method: 'DELETE', path: location, actions, what: 'end of an upload' });
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    if (!isLate && !(isProductError(error) && error.code.startsWith('REGISTRY_'))) throw error;
  }
}

/**
 * Returns the outcome of an upload from the response to its last request. Throws an error that no retry would
 * change.
 */
export function completeUpload(
  client: RegistryClient,
  answer: RegistryAnswer | ConnectionFailure,
  digest: string,
): UploadOutcome {
  const what = `upload of ${digest}`;
  if (answer instanceof ConnectionFailure) {
    const error = client.unreachable(answer, what, 1);
    if (answer.isFinal) throw error;
    return { kind: 'lost', error, setback: setbackOf(answer) };
  }
  const stored = answer.headers['docker-content-digest'];
  if (answer.status === 201 && (stored === undefined || stored === digest)) return { kind: 'done' };
  if (answer.status === 201) throw differs(client, digest);
  if (answer.status === 400 && errorCodes(answer).includes('DIGEST_INVALID'))
    return { kind: 'lost', error: differs(client, digest), setback: setbackOf(answer) };
  const error = client.error(answer, what);
  if (isPassing(answer.status) || isUploadUnknown(answer))
    return { kind: 'lost', error, setback: setbackOf(answer) };
  throw error;
}

/**
 * True if the registry does not know the upload any more, or cannot continue it from the client's position.
 */
export const isUploadUnknown = (answer: RegistryAnswer): boolean =>
  answer.status === 404 ||
  answer.status === 416 ||
  (answer.status === 400 && errorCodes(answer).includes('BLOB_UPLOAD_INVALID'));

function differs({ host, repository }: RegistryClient, digest: string): ProductError {
  return new ProductError(
    'DIGEST_MISMATCH',
    `registry ${host}, repository ${repository}: what arrived there is not ${digest}; something on the way changes bytes`,
  );
}

/**
 * Sends a blob as the body of one request, as fast as the registry reads it. A blob that fits in a chunk is
 * read before anything is sent. If a larger one is damaged, the registry may keep the unfinished upload until
 * it purges it.
 */
export async function uploadWhole(
  client: RegistryClient,
  upload: Upload,
  source: BlobSource,
  pieceSize: number,
): Promise<UploadOutcome> {
  const { digest, size } = source.descriptor;
  const answer = await client.requestOnce({
    method: 'PUT',
    path: withDigest(upload.location, digest),
    headers: { 'content-type': 'application/octet-stream' },
    body:
      size <= pieceSize
        ? bytesBody(await wholeOf(source, size))
        : { size, open: () => whenVerified(source.open()) },
    isFinished: size <= pieceSize,
    what: `upload of ${digest}`,
  });
  return completeUpload(client, answer, digest);
}

/**
 * Returns the bytes, and the last of them only after all are verified. They are copied, because the buffer is
 * reused.
 */
async function* whenVerified(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of chunksOf(source, 1 << 18)) yield Buffer.from(bytes);
}

/** Returns the whole blob; the source verifies it. An empty blob has no chunk. */
async function wholeOf(source: BlobSource, size: number): Promise<Uint8Array> {
  for await (const { bytes } of chunksOf(source.open(), Math.max(size, 1))) return bytes;
  return new Uint8Array();
}

/**
 * A larger chunk is not kept in memory, whatever minimum a registry requires: the blob is sent whole then.
 */
const maxChunkBytes = 32 * 1024 * 1024;
/** Statuses of the first PATCH that mean that the registry accepts no chunks. */
const refusesChunks: readonly number[] = [404, 405, 411, 413, 415, 501];

/** Sends a blob in chunks. If a chunk did not arrive completely, continues at the registry's position. */
export async function uploadInPieces(
  client: RegistryClient,
  upload: Upload,
  source: BlobSource,
  pieceSize: number,
): Promise<UploadOutcome> {
  const { digest } = source.descriptor;
  const { smallestPiece = 0 } = upload;
  if (smallestPiece > maxChunkBytes)
    return { kind: 'takes no pieces', error: tooLarge(client, digest, smallestPiece) };
  const size = Math.max(pieceSize, smallestPiece);
  for await (const piece of chunksOf(source.open(), size)) {
    const outcome = await sendChunk(client, upload, piece, digest);
    if (outcome !== undefined) return outcome;
  }
  const answer = await client.requestOnce({
    method: 'PUT',
    path: withDigest(upload.location, digest),
    what: `upload of ${digest}`,
  });
  return completeUpload(client, answer, digest);
}

function tooLarge({ host, repository }: RegistryClient, digest: string, bytes: number): ProductError {
  return new ProductError(
    'REGISTRY_ERROR',
    `registry ${host}, repository ${repository}: upload of ${digest}: it wants pieces of ${bytes} bytes or more, which are not held in memory; have it take smaller ones, or blobs whole`,
  );
}

/** Sends one chunk. Undefined: the registry has the chunk, and `upload` is the location for the next one. */
async function sendChunk(
  client: RegistryClient,
  upload: Upload,
  { start, bytes }: Chunk,
  digest: string,
): Promise<UploadOutcome | undefined> {
  const what = `upload of ${digest}`;
  const end = start + bytes.length;
  let position = start;
  for (let tries = 1; position < end; tries += 1) {
    const call = patch(upload.location, bytes.subarray(position - start), position, what);
    const answer = await client.requestOnce(call);
    const failure = failureOf(client, answer, { what, isFirst: position === 0, tries });
    if (failure !== undefined) return failure;
    let reached: number | undefined;
    if (!(answer instanceof ConnectionFailure) && isAccepted(answer)) {
      upload.location = client.location(answer, call);
      reached = positionIn(answer, end) ?? end;
      // Without progress, the loop would not end.
      if (reached === position) return uploadLost(client, answer, what);
    } else {
      if (!(await pause(client, answer, tries))) return uploadLost(client, answer, what, tries);
      reached = await getUploadOffset(client, upload, { what, end });
    }
    if (reached === undefined || reached < start || reached > end) return uploadLost(client, answer, what);
    position = reached;
  }
  return undefined;
}

const isAccepted = ({ status }: RegistryAnswer): boolean => status === 202 || status === 204;

/**
 * Returns the outcome that ends the upload, or the chunked upload; undefined if the chunk was accepted or can
 * be tried again.
 */
function failureOf(
  client: RegistryClient,
  answer: RegistryAnswer | ConnectionFailure,
  { what, isFirst, tries }: { readonly what: string; readonly isFirst: boolean; readonly tries: number },
): UploadOutcome | undefined {
  if (answer instanceof ConnectionFailure) {
    if (answer.isFinal) throw client.unreachable(answer, what, tries);
    return undefined;
  }
  if (isAccepted(answer)) return undefined;
  const isUnknown = errorCodes(answer).includes('BLOB_UPLOAD_UNKNOWN');
  if (isFirst && !isUnknown && refusesChunks.includes(answer.status))
    return { kind: 'takes no pieces', error: client.error(answer, what) };
  if (isUploadUnknown(answer)) return uploadLost(client, answer, what);
  if (!isPassing(answer.status)) throw client.error(answer, what);
  return undefined;
}

function patch(location: URL, bytes: Uint8Array, position: number, what: string): Call {
  return {
    method: 'PATCH',
    path: location,
    headers: {
      'content-type': 'application/octet-stream',
      'content-range': `${position}-${position + bytes.length - 1}`,
    },
    body: bytesBody(bytes),
    isFinished: true,
    what,
  };
}

/** Queries how many bytes the registry has; undefined if it does not know the upload any more. */
async function getUploadOffset(
  client: RegistryClient,
  upload: Upload,
  { what, end }: { readonly what: string; readonly end: number },
): Promise<number | undefined> {
  const call: Call = { method: 'GET', path: upload.location, what };
  const answer = await client.call(call);
  if (answer.status !== 204 && answer.status !== 202 && answer.status !== 200) return undefined;
  if (answer.headers['location'] !== undefined) upload.location = client.location(answer, call);
  return positionIn(answer, end);
}

/**
 * Parses Range: `0-<last byte>`. `0-0` is one byte by the specification, but some registries send it for no
 * byte. It is read as one byte only if the chunk ends after one byte.
 */
function positionIn({ headers }: RegistryAnswer, end: number): number | undefined {
  const [, last] = /^(?:bytes=)?0-(\d{1,15})$/u.exec(headers['range'] ?? '') ?? [];
  if (last === undefined) return undefined;
  return last === '0' && end !== 1 ? 0 : Number(last) + 1;
}

/** Waits before the next try. Returns false if there must be none. */
async function pause(
  client: RegistryClient,
  outcome: RegistryAnswer | ConnectionFailure,
  tries: number,
): Promise<boolean> {
  const { now, random, sleep } = client.patience;
  const delay = retryDelay({ setback: setbackOf(outcome), tries, now: now(), random: random() });
  if (delay === undefined) return false;
  await sleep(delay);
  return true;
}

function uploadLost(
  client: RegistryClient,
  outcome: RegistryAnswer | ConnectionFailure,
  what: string,
  tries = 1,
): UploadOutcome {
  const error =
    outcome instanceof ConnectionFailure
      ? client.unreachable(outcome, what, tries)
      : client.error(outcome, what);
  return { kind: 'lost', error, setback: setbackOf(outcome) };
}
