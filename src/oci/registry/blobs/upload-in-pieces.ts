import { ProductError } from '../../../errors/product-error.ts';
import type { RegistryAnswer } from '../http/registry-transport.ts';
import { bytesBody, ConnectionFailure } from '../http/registry-transport.ts';
import { isPassing, retryDelay } from '../http/retry-delay.ts';
import { setbackOf } from '../http/retry-while-passing.ts';
import type { Call, RegistryClient } from '../registry-client.ts';
import { errorCodes } from '../registry-error.ts';
import type { BlobSource, Chunk } from './blob-source.ts';
import { chunksOf } from './blob-source.ts';
import { completeUpload, isUploadUnknown } from './complete-upload.ts';
import type { Upload, UploadOutcome } from './upload.ts';
import { withDigest } from './upload.ts';

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
