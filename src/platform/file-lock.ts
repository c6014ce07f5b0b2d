import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ProductError } from '../errors/product-error.ts';
import { ensurePrivateDirectory } from './own-folder.ts';
import type { PathSegment } from './path-segment.ts';

export interface FileLock {
  release(): void;
}

/** SQLITE_BUSY. */
const busy = 5;

/**
 * Takes a lock of that name in a folder of this user's own, made when it is not there; undefined while another run has it. The
 * kernel keeps it (fcntl(2), by way of SQLite, since Node has no call for it): a run that is killed holds it no longer, and a run
 * in another pid namespace counts as one here. FILE_NOT_TRUSTED where others can write in the folder: they could take the
 * lock, or take it away.
 */
export async function takeFileLock(folder: string, name: PathSegment): Promise<FileLock | undefined> {
  await ensurePrivateDirectory(folder);
  const path = join(folder, name);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    database.exec('BEGIN EXCLUSIVE');
    const held = database;
    return { release: () => held.close() };
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
