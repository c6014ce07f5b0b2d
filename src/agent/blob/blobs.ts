import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../platform/clock.ts';
import { isBlobId, type LocalBlobs } from './local-blobs.ts';
import { sha1OfFile, verifyDigests } from './digest.ts';
import { type BlobLocation, download, upload } from './http-transfer.ts';
import type { RemoteBlobstore } from './remote-blobstore.ts';

/** A blob that a request names: by a signed URL, or by its id on the VM or in the blobstore. */
export type BlobSource = {
  /** One or several digests, joined by `;`. All must match. */
  readonly digest: string;
} & BlobAddress;

export type BlobAddress =
  | { readonly signed: SignedUrl }
  | { readonly blobId: string; readonly signed?: undefined };

/** A URL that needs no credentials, with the headers that belong to it. */
export interface SignedUrl {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface BlobsOptions {
  /** The VM's own blobs: those of the HTTPS bus and of upload_blob. */
  readonly local: LocalBlobs;
  /** The blobstore in use now; undefined if that is the VM's own. */
  readonly remote: () => RemoteBlobstore | undefined;
  /**
   * PEM of the CAs that may have signed the certificate of a signed URL's server; undefined for those of the
   * VM.
   */
  readonly ca: () => string | undefined;
  /** The directory of downloads, which only root can write. */
  readonly temporary: string;
  readonly clock: Clock;
}

const tries = 3;
const pauseMs = 1000;

/** The blobs that the agent reads and writes, wherever they are. */
export class Blobs {
  readonly #options: BlobsOptions;

  constructor(options: BlobsOptions) {
    this.#options = options;
  }

  get local(): LocalBlobs {
    return this.#options.local;
  }

  /**
   * Runs `use` with the path of a file that has the content of a blob and matches its digests. Looks on the
   * VM first, then in the blobstore, up to three times. Throws AGENT_ARGUMENT_INVALID for an id that is no
   * file name, AGENT_BLOB_NOT_FOUND if the blobstore does not have the blob, AGENT_BLOBSTORE_FAILED if it
   * cannot be read, and AGENT_BLOB_INVALID if the blob does not match, or if it is missing and the VM is the
   * blobstore.
   * `what` names the blob in the error.
   */
  async withVerified<T>(source: BlobSource, what: string, use: (path: string) => Promise<T>): Promise<T> {
    const { local, remote, temporary } = this.#options;
    // An id becomes part of a URL, of a path and of a command line.
    if (source.signed === undefined && !isBlobId(source.blobId))
      throw new ProductError('AGENT_ARGUMENT_INVALID', `the blob id of ${what} must be the name of a file`);
    const store = remote();
    const isLocal = source.signed === undefined && (await local.find(source.blobId)) !== undefined;
    if (isLocal || (source.signed === undefined && store === undefined))
      return use(await local.verified(source.blobId, source.digest, what));
    const path = join(temporary, `blob-${randomUUID()}`);
    try {
      await this.#download(source, store, path).catch((error: unknown) => {
        if (!isProductError(error)) throw error;
        const name = source.signed === undefined ? `${what} (blob '${source.blobId}')` : what;
        throw new ProductError(error.code, `${name}: ${error.message}`, { cause: error });
      });
      await verifyDigests(path, source.digest, what);
      return await use(path);
    } finally {
      await rm(path, { force: true });
    }
  }

  /** Stores the file that `fill` writes under a new id, and returns the id and the bare SHA-1. */
  async store(
    fill: (path: string) => Promise<void>,
  ): Promise<{ readonly id: string; readonly sha1: string }> {
    const { local, remote } = this.#options;
    const store = remote();
    if (store === undefined) {
      const blob = await local.create(fill);
      return { id: blob.id, sha1: await sha1OfFile(blob.path) };
    }
    return this.#withFile(fill, async (path) => {
      const id = randomUUID();
      await this.#retry(() => store.put(id, path));
      return { id, sha1: await sha1OfFile(path) };
    });
  }

  /** Uploads the file that `fill` writes, and returns what `describe` returns for it. */
  upload<T>(
    target: SignedUrl,
    fill: (path: string) => Promise<void>,
    describe: (path: string) => Promise<T>,
  ): Promise<T> {
    return this.#withFile(fill, async (path) => {
      await this.#retry(() => upload(this.#location(target), path));
      return describe(path);
    });
  }

  #download(source: BlobAddress, store: RemoteBlobstore | undefined, path: string): Promise<void> {
    return this.#retry(async () => {
      await rm(path, { force: true });
      await (source.signed === undefined
        ? store?.get(source.blobId, path)
        : download(this.#location(source.signed), path));
    });
  }

  async #withFile<T>(fill: (path: string) => Promise<void>, use: (path: string) => Promise<T>): Promise<T> {
    const path = join(this.#options.temporary, `blob-${randomUUID()}`);
    try {
      await fill(path);
      return await use(path);
    } finally {
      await rm(path, { force: true });
    }
  }

  #location({ url, headers }: SignedUrl): BlobLocation {
    return { url: new URL(url), headers, ca: this.#options.ca() };
  }

  /** A missing blob is not looked for again. */
  async #retry(attempt: () => Promise<void>): Promise<void> {
    for (let left = tries - 1; ; left -= 1) {
      try {
        return await attempt();
      } catch (error) {
        if (left === 0 || isProductError(error, 'AGENT_BLOB_NOT_FOUND') || !isProductError(error))
          throw error;
        await this.#options.clock.sleep(pauseMs);
      }
    }
  }
}
