import { constants } from 'node:fs';
import { copyFile, mkdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isProductError } from '../../errors/product-error.ts';
import { temporaryPath, removeTemporaryFiles, syncDirectory } from '../../platform/durable-file.ts';
import { pathSegment, type PathSegment } from '../../platform/path-segment.ts';
import { verifyFile } from '../digest.ts';

/** The bosh CLI's `local` blobstore: a directory with one file per blob, named by its id. */
export class LocalBlobstore {
  readonly #directory: string;
  #announce: (() => void) | undefined;

  /** `announce` is called before the directory is read or written for the first time. */
  constructor(directory: string, announce?: () => void) {
    this.#directory = directory;
    this.#announce = announce;
  }

  #blob(id: PathSegment): string {
    this.#announce?.();
    this.#announce = undefined;
    return join(this.#directory, id);
  }

  /**
   * Copies the blob to `path`, completely or not at all. Throws FILE_NOT_FOUND, or DIGEST_MISMATCH if it has
   * another digest.
   */
  async get(id: PathSegment, digest: string, path: string): Promise<void> {
    const blob = this.#blob(id);
    await verifyFile(blob, digest);
    await installCopy(blob, path);
  }

  /** Returns true if the blob exists with that digest. */
  has(id: PathSegment, digest: string): Promise<boolean> {
    return hasDigest(this.#blob(id), digest);
  }

  /**
   * Stores the file and returns its id, which is made from the digest. So a second call creates the same
   * blob.
   */
  async create(path: string, digest: string): Promise<PathSegment> {
    const id = pathSegment(digest.replace(/^.*:/u, ''));
    await installCopy(path, this.#blob(id));
    return id;
  }
}

/** Copies a file so that `to` is complete or does not exist. Creates its directory. */
async function installCopy(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  removeTemporaryFiles(to);
  const draft = temporaryPath(to);
  await copyFile(from, draft, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  await rename(draft, to);
  syncDirectory(dirname(to));
}

/** Returns true if the file exists with that digest. */
export async function hasDigest(path: string, digest: string): Promise<boolean> {
  try {
    await verifyFile(path, digest);
    return true;
  } catch (error) {
    if (isProductError(error) && (error.code === 'FILE_NOT_FOUND' || error.code === 'DIGEST_MISMATCH')) return false;
    throw error;
  }
}
