import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { Descriptor } from '../image-source.ts';
import { type RegistryAnswer, ConnectionFailure, bytesBody } from './http/registry-transport.ts';
import { type RetryReason, isTransient, retryReason } from './http/retry.ts';
import type { RegistryClient, RepositoryRequest } from './registry-client.ts';
import { errorCodes } from './registry-error.ts';

/** A blob that can be read from its start again, each time an upload begins again. */
export interface BlobSource {
  readonly descriptor: Descriptor;
  /**
   * The bytes are verified: the iteration ends with an error if they do not match the descriptor (blob.ts).
   */
  open(): AsyncIterable<Uint8Array>;
}

/** The registry does not know the upload any more, or its position is unknown. */
export interface LostUpload {
  readonly kind: 'lost';
  readonly error: ProductError;
  readonly reason: RetryReason;
}

/** How an upload ended. */
export type UploadOutcome =
  | { readonly kind: 'done' }
  | LostUpload
  | { readonly kind: 'refuses chunks'; readonly error: ProductError };

/**
 * A larger chunk is not kept in memory, whatever minimum a registry requires: the blob is sent whole then.
 */
const maxChunkBytes = 32 * 1024 * 1024;
/** Statuses of the first PATCH that mean that the registry accepts no chunks. */
const refusesChunks: readonly number[] = [404, 405, 411, 413, 415, 501];

/** An upload that the registry has started (OCI distribution-spec, "Pushing blobs"). */
export class BlobUpload {
  readonly #client: RegistryClient;
  readonly #digest: string;
  /** The operation as error messages name it. */
  readonly #operation: string;
  /** The smallest chunk that the registry accepts, except for the last one. */
  readonly #minChunkBytes: number;
  #location: URL;

  private constructor(
    client: RegistryClient,
    digest: string,
    started: { readonly answer: RegistryAnswer; readonly request: RepositoryRequest },
  ) {
    this.#client = client;
    this.#digest = digest;
    this.#operation = `upload of ${digest}`;
    this.#location = client.location(started.answer, started.request);
    const minimum = started.answer.headers['oci-chunk-min-length'] ?? '';
    this.#minChunkBytes = /^\d{1,12}$/u.test(minimum) ? Number(minimum) : 0;
  }

  static async start(client: RegistryClient, digest: string): Promise<BlobUpload> {
    const request: RepositoryRequest = {
      ...{ method: 'POST', path: 'blobs/uploads/', operation: `upload of ${digest}` },
    };
    const answer = await client.request(request);
    if (answer.status !== 202) throw client.error(answer, request.operation);
    return new BlobUpload(client, digest, { answer, request });
  }

  /**
   * Mounts a blob of another repository into this one, if that repository has it and the user may read it.
   * Otherwise the registry has started an upload, or has rejected the request: a user who may not read the
   * other repository may still push to this one.
   */
  static async mount(
    client: RegistryClient,
    digest: string,
    from: string,
  ): Promise<BlobUpload | 'mounted' | 'refused'> {
    const request: RepositoryRequest = {
      method: 'POST',
      path: `blobs/uploads/?mount=${digest}&from=${encodeURIComponent(from)}`,
      operation: `mount of ${digest} from ${from}`,
      from,
    };
    try {
      const answer = await client.request(request);
      if (answer.status === 201) return 'mounted';
      return answer.status === 202 ? new BlobUpload(client, digest, { answer, request }) : 'refused';
    } catch (error) {
      // The token server rejects a token for both repositories as a whole, or gives it fewer rights than
      // requested.
      if (!isProductError(error, 'REGISTRY_UNAUTHORIZED')) throw error;
      return 'refused';
    }
  }

  /**
   * Sends a blob as the body of one request, as fast as the registry reads it. A blob that fits in a chunk is
   * read before anything is sent. If a larger one is damaged, the registry may keep the unfinished upload
   * until it purges it.
   */
  async sendWhole(source: BlobSource, chunkBytes: number): Promise<UploadOutcome> {
    const { size } = source.descriptor;
    const fitsInChunk = size <= chunkBytes;
    const answer = await this.#client.requestOnce({
      method: 'PUT',
      path: this.#completionUrl(),
      headers: { 'content-type': 'application/octet-stream' },
      body: fitsInChunk
        ? bytesBody(await readWhole(source, size))
        : { size, open: () => whenVerified(source.open()) },
      isFinished: fitsInChunk,
      operation: this.#operation,
    });
    return this.#outcome(answer);
  }

  /** Sends a blob in chunks. If a chunk did not arrive completely, continues at the registry's position. */
  async sendChunks(source: BlobSource, chunkBytes: number): Promise<UploadOutcome> {
    if (this.#minChunkBytes > maxChunkBytes) return { kind: 'refuses chunks', error: this.#chunksTooLarge() };
    for await (const chunk of chunksOf(source.open(), Math.max(chunkBytes, this.#minChunkBytes))) {
      const outcome = await this.#sendChunk(chunk);
      if (outcome !== undefined) return outcome;
    }
    return this.#outcome(
      await this.#client.requestOnce({
        method: 'PUT',
        path: this.#completionUrl(),
        operation: this.#operation,
      }),
    );
  }

  /**
   * Cancels the upload, also after the caller's signal. If a registry cannot do that, does not respond or
   * does not allow it, it purges the upload by itself after a while. This must neither be an error nor hide
   * the reason of the cancellation.
   */
  async cancel(): Promise<void> {
    try {
      // distribution requires the right to delete for it.
      const actions = 'pull,delete';
      const path = this.#location;
      await this.#client.requestForCleanup({
        method: 'DELETE',
        path,
        actions,
        operation: 'end of an upload',
      });
    } catch (error) {
      const isLate = error instanceof DOMException && error.name === 'TimeoutError';
      if (!isLate && !(isProductError(error) && error.code.startsWith('REGISTRY_'))) throw error;
    }
  }

  /**
   * Returns the URL that completes the upload. The registry's own query may be signed, so it is kept byte by
   * byte.
   */
  #completionUrl(): URL {
    const url = new URL(this.#location);
    const parameter = `digest=${encodeURIComponent(this.#digest)}`;
    url.search = url.search === '' ? parameter : `${url.search}&${parameter}`;
    return url;
  }

  /**
   * Returns the outcome of the upload from the response to its last request. Throws an error that no retry
   * would change.
   */
  #outcome(answer: RegistryAnswer | ConnectionFailure): UploadOutcome {
    if (answer instanceof ConnectionFailure) {
      if (answer.isFinal) throw this.#client.unreachable(answer, this.#operation, 1);
      return this.#lost(answer);
    }
    const stored = answer.headers['docker-content-digest'];
    if (answer.status === 201 && (stored === undefined || stored === this.#digest)) return { kind: 'done' };
    if (answer.status === 201) throw this.#digestMismatch();
    if (answer.status === 400 && errorCodes(answer).includes('DIGEST_INVALID'))
      return { kind: 'lost', error: this.#digestMismatch(), reason: retryReason(answer) };
    if (isTransient(answer.status) || isUploadUnknown(answer)) return this.#lost(answer);
    throw this.#client.error(answer, this.#operation);
  }

  /** Sends one chunk. Returns undefined if the registry has the chunk. */
  async #sendChunk({ start, bytes }: Chunk): Promise<UploadOutcome | undefined> {
    const end = start + bytes.length;
    let position = start;
    for (let tries = 1; position < end; tries += 1) {
      const request = this.#patch(bytes.subarray(position - start), position);
      const answer = await this.#client.requestOnce(request);
      const failure = this.#chunkFailure(answer, { isFirst: position === 0, tries });
      if (failure !== undefined) return failure;
      let reached: number | undefined;
      if (!(answer instanceof ConnectionFailure) && isAccepted(answer)) {
        this.#location = this.#client.location(answer, request);
        reached = positionIn(answer, end) ?? end;
        // Without progress, the loop would not end.
        if (reached === position) return this.#lost(answer);
      } else {
        if (!(await this.#client.retries.waitForRetry(retryReason(answer), tries)))
          return this.#lost(answer, tries);
        reached = await this.#getUploadOffset(end);
      }
      if (reached === undefined || reached < start || reached > end) return this.#lost(answer);
      position = reached;
    }
    return undefined;
  }

  /**
   * Returns the outcome that ends the upload, or the chunked upload; undefined if the chunk was accepted or
   * can be tried again.
   */
  #chunkFailure(
    answer: RegistryAnswer | ConnectionFailure,
    { isFirst, tries }: { readonly isFirst: boolean; readonly tries: number },
  ): UploadOutcome | undefined {
    if (answer instanceof ConnectionFailure) {
      if (answer.isFinal) throw this.#client.unreachable(answer, this.#operation, tries);
      return undefined;
    }
    if (isAccepted(answer)) return undefined;
    const isUnknown = errorCodes(answer).includes('BLOB_UPLOAD_UNKNOWN');
    if (isFirst && !isUnknown && refusesChunks.includes(answer.status))
      return { kind: 'refuses chunks', error: this.#client.error(answer, this.#operation) };
    if (isUploadUnknown(answer)) return this.#lost(answer);
    if (!isTransient(answer.status)) throw this.#client.error(answer, this.#operation);
    return undefined;
  }

  #patch(bytes: Uint8Array, position: number): RepositoryRequest {
    return {
      method: 'PATCH',
      path: this.#location,
      headers: {
        'content-type': 'application/octet-stream',
        'content-range': `${position}-${position + bytes.length - 1}`,
      },
      body: bytesBody(bytes),
      isFinished: true,
      operation: this.#operation,
    };
  }

  /** Queries how many bytes the registry has; undefined if it does not know the upload any more. */
  async #getUploadOffset(end: number): Promise<number | undefined> {
    const request: RepositoryRequest = { method: 'GET', path: this.#location, operation: this.#operation };
    const answer = await this.#client.request(request);
    if (answer.status !== 204 && answer.status !== 202 && answer.status !== 200) return undefined;
    if (answer.headers['location'] !== undefined) this.#location = this.#client.location(answer, request);
    return positionIn(answer, end);
  }

  #lost(outcome: RegistryAnswer | ConnectionFailure, tries = 1): LostUpload {
    const error =
      outcome instanceof ConnectionFailure
        ? this.#client.unreachable(outcome, this.#operation, tries)
        : this.#client.error(outcome, this.#operation);
    return { kind: 'lost', error, reason: retryReason(outcome) };
  }

  #chunksTooLarge(): ProductError {
    const { host, repository } = this.#client;
    return new ProductError(
      'REGISTRY_ERROR',
      `registry ${host}, repository ${repository}: ${this.#operation}: it requires chunks of at least ${this.#minChunkBytes} bytes, which are too large for the memory; configure it to accept smaller chunks or whole blobs`,
    );
  }

  #digestMismatch(): ProductError {
    const { host, repository } = this.#client;
    return new ProductError(
      'DIGEST_MISMATCH',
      `registry ${host}, repository ${repository}: it received other bytes than those of ${this.#digest}; check the proxies between this machine and the registry`,
    );
  }
}

/**
 * True if the registry does not know the upload any more, or cannot continue it from the client's position.
 */
const isUploadUnknown = (answer: RegistryAnswer): boolean =>
  answer.status === 404 ||
  answer.status === 416 ||
  (answer.status === 400 && errorCodes(answer).includes('BLOB_UPLOAD_INVALID'));

const isAccepted = ({ status }: RegistryAnswer): boolean => status === 202 || status === 204;

/**
 * Parses Range: `0-<last byte>`. `0-0` is one byte by the specification, but some registries send it for no
 * byte. It is read as one byte only if the chunk ends after one byte.
 */
function positionIn({ headers }: RegistryAnswer, end: number): number | undefined {
  const [, last] = /^(?:bytes=)?0-(\d{1,15})$/u.exec(headers['range'] ?? '') ?? [];
  if (last === undefined) return undefined;
  return last === '0' && end !== 1 ? 0 : Number(last) + 1;
}

/** A chunk of a blob. Its bytes are valid until the next chunk is requested. */
interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/**
 * Splits a blob into chunks of `size` bytes, in one buffer that is reused. The last chunk is returned only
 * after the source has ended without an error, so that an upload of damaged bytes cannot be completed.
 */
async function* chunksOf(source: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Chunk> {
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

/**
 * Returns the bytes. The last byte is returned only after all bytes are verified. They are copied, because
 * the buffer is reused.
 */
async function* whenVerified(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of chunksOf(source, 1 << 18)) yield Buffer.from(bytes);
}

/** Returns the whole blob; the source verifies it. An empty blob has no chunk. */
async function readWhole(source: BlobSource, size: number): Promise<Uint8Array> {
  for await (const { bytes } of chunksOf(source.open(), Math.max(size, 1))) return bytes;
  return new Uint8Array();
}
