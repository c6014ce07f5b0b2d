import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ProductError } from '../../errors/product-error.ts';
import { errorCode } from '../file/error-code.ts';
import { syncDirectory } from '../file/files.ts';
import { verifyDigests } from './digest.ts';
import { writing } from '../../platform/write-file.ts';

const partialPrefix = '.partial-';

/** Returns true if the id is a safe file name. A leading dot is reserved for unfinished uploads. */
export function isBlobId(id: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$/.test(id);
}

/** The VM's own blobstore: one file per blob in data/blobs, mode 0600. A file there is always complete. */
export class LocalBlobs {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Creates the directory and removes unfinished uploads of earlier runs. */
  async prepare(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.#directory)) {
      if (name.startsWith(partialPrefix)) await rm(join(this.#directory, name), { force: true });
    }
  }

  /**
   * Stores a blob. Leaves nothing if the stream or `check` fails, and replaces an existing blob in one step.
   * `check` gets the path of the complete file.
   */
  async write(
    id: string,
    content: Readable,
    check: (path: string) => Promise<void> = async () => {},
  ): Promise<void> {
    await this.#install(id, async (partial) => {
      await writing(partial, () =>
        pipeline(content, createWriteStream(partial, { flags: 'wx', mode: 0o600 })),
      );
      await check(partial);
    });
  }

  /** Stores the file that `fill` writes under a new id. The path that `fill` gets does not exist yet. */
  async create(
    fill: (path: string) => Promise<void>,
  ): Promise<{ readonly id: string; readonly path: string }> {
    const id = randomUUID();
    await this.#install(id, fill);
    return { id, path: this.#path(id) };
  }

  /** Returns the path of a blob and its size in bytes, or undefined if there is no such blob. */
  async find(id: string): Promise<{ readonly path: string; readonly size: number } | undefined> {
    if (!isBlobId(id)) return undefined;
    try {
      const found = await stat(this.#path(id));
      return found.isFile() ? { path: this.#path(id), size: found.size } : undefined;
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /**
   * Returns the path of a blob whose content matches every digest in `digest`. Throws AGENT_BLOB_INVALID if
   * the blob is missing or does not match; `what` names it in the error.
   */
  async verified(id: string, digest: string, what: string): Promise<string> {
    const blob = await this.find(id);
    if (blob === undefined) {
      throw new ProductError(
        'AGENT_BLOB_INVALID',
        `${what}: there is no blob '${id}' on this VM: upload it first`,
      );
    }
    await verifyDigests(blob.path, digest, `${what} (blob '${id}')`);
    return blob.path;
  }

  /** Removes a blob if it exists. */
  async remove(id: string): Promise<void> {
    if (isBlobId(id)) await rm(this.#path(id), { force: true });
  }

  #path(id: string): string {
    return join(this.#directory, id);
  }

  async #install(id: string, fill: (path: string) => Promise<void>): Promise<void> {
    if (!isBlobId(id)) throw new ProductError('AGENT_ARGUMENT_INVALID', `'${id}' is not a blob id`);
    const partial = join(this.#directory, `${partialPrefix}${randomUUID()}`);
    try {
      await fill(partial);
      await syncFile(partial);
      await rename(partial, this.#path(id));
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
    await syncDirectory(this.#directory);
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
