import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ProductError } from '../errors/product-error.ts';
import { ensurePrivateDirectory } from './private-directory.ts';
import type { PathSegment } from './path-segment.ts';

export interface FileLock {
  release(): void;
}

/** The error code SQLITE_BUSY. */
const busy = 5;

/**
 * Takes a lock of that name in a private folder of this user, which is created if needed. Returns undefined
 * while another run has the lock. The kernel holds the lock (fcntl(2), used through SQLite, because Node has
 * no call for it): it ends when the run is killed, and it works across pid namespaces. Rejects with
 * FILE_NOT_TRUSTED if others can write in the folder: they could take or remove the lock.
 */
export async function takeFileLock(directory: string, name: PathSegment): Promise<FileLock | undefined> {
  await ensurePrivateDirectory(directory);
  const path = join(directory, name);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    database.exec('BEGIN EXCLUSIVE');
    const lockedDatabase = database;
    return { release: () => lockedDatabase.close() };
  } catch (error) {
    database?.close();
    if (error instanceof Error && 'errcode' in error) {
      if (error.errcode === busy) return undefined;
      const message = `Lock '${path}' cannot be made or taken; look after that folder and its disk, and run the same command again`;
      throw new ProductError('FILE_NOT_WRITABLE', message, { cause: error });
    }
    throw error;
  }
}
