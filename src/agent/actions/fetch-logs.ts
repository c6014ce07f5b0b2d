import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdir, statfs } from 'node:fs/promises';
import { dirname, join, matchesGlob } from 'node:path';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { BlobStore } from '../blob/blob-store.ts';
import { sha1OfFile } from '../blob/digest.ts';
import type { Directories } from '../directories.ts';
import { createArchive } from '../file/archive.ts';
import { DirectoryHandle, removeTree } from '../file/directory-handle.ts';
import { errorCode } from '../file/error-code.ts';
import type { Action } from './action.ts';
import { textArgument } from './arguments.ts';

// job users make folders in the log folder; each level that is walked is an open descriptor
const depthLimit = 32;

/**
 * `fetch_logs ["job"|"agent", filters]` -> `{blobstore_id, sha1}` of a tar.gz with the log files that match a
 * filter (globs below the log folder; everything without filters). Job users write there: no link is followed, and what
 * is not a plain file of one name is left out.
 */
export function fetchLogs(options: { readonly blobs: BlobStore; readonly directories: Directories }): Action {
  return {
    mode: 'asynchronous',
    async run(list) {
      const folder = folderOf(textArgument(list, 0, 'log type'), options.directories);
      const filters = filtersOf(list[1]);
      const target = join(options.directories.temporary, `logs-${randomUUID()}`);
      await mkdir(target, { mode: 0o700 });
      try {
        await using logs = await DirectoryHandle.open(folder);
        const { bavail, bsize } = await statfs(target);
        await copyMatching(logs, '', { target, filters, bytesLeft: bavail * bsize });
        const blob = await options.blobs.create((path) => createArchive(target, path));
        return { blobstore_id: blob.id, sha1: await sha1OfFile(blob.path) };
      } finally {
        await removeTree(target);
      }
    },
  };
}

function folderOf(type: string, directories: Directories): string {
  switch (type) {
    case 'job':
      return directories.log;
    case 'agent':
      return directories.agentLog;
    default:
      throw new ProductError(
        'AGENT_NOT_SUPPORTED',
        `logs of type '${type}' cannot be fetched: only job and agent can`,
      );
  }
}

function filtersOf(argument: unknown): readonly string[] {
  if (!Array.isArray(argument) || argument.length === 0) return ['**/*'];
  return argument.map((filter: unknown) => {
    if (typeof filter === 'string' && !filter.startsWith('/') && !filter.split('/').includes('..'))
      return filter;
    throw new ProductError('AGENT_ARGUMENT_INVALID', 'a log filter is no glob below the log folder');
  });
}

interface Copying {
  readonly target: string;
  readonly filters: readonly string[];
  bytesLeft: number;
}

/** Copies the matching files of a folder, which is `prefix` below the log folder. */
async function copyMatching(
  folder: DirectoryHandle,
  prefix: string,
  copying: Copying,
  depth = 0,
): Promise<void> {
  for (const name of await folder.names()) {
    const text = name.toString();
    // a name that is no UTF-8 could come out as another file's
    if (!Buffer.from(text).equals(name)) continue;
    const path = join(prefix, text);
    const kind = await unlessOther(folder.kindOf(name));
    if (kind?.isDirectory() && depth < depthLimit) {
      await using below = await unlessOther(folder.directory(name));
      if (below !== undefined) await copyMatching(below, path, copying, depth + 1);
    }
    if (!kind?.isFile() || !copying.filters.some((filter) => matchesGlob(path, filter))) continue;
    await using file = await unlessOther(folder.file(name, 'read'));
    if (file === undefined) continue;
    copying.bytesLeft -= (await file.stat()).size;
    if (copying.bytesLeft < 0) {
      throw new ProductError(
        'AGENT_NOT_SUPPORTED',
        `the logs do not fit into what is free in ${copying.target}: leave out ${path} or others with a filter`,
      );
    }
    const copy = join(copying.target, path);
    await mkdir(dirname(copy), { recursive: true });
    await copyFile(`/proc/self/fd/${file.fd}`, copy, constants.COPYFILE_EXCL);
  }
}

/** Undefined for what went away, or became something else, since it was listed. */
async function unlessOther<T>(opening: Promise<T>): Promise<T | undefined> {
  try {
    return await opening;
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || isProductError(error, 'AGENT_PATH_UNSAFE')) return undefined;
    throw error;
  }
}
