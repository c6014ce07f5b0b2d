import { randomUUID } from 'node:crypto';
import { copyFile, glob, lstat, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { BlobStore } from '../blob/blob-store.ts';
import { sha1OfFile } from '../blob/digest.ts';
import type { Directories } from '../directories.ts';
import { createArchive } from '../file/archive.ts';
import type { Action } from './action.ts';
import { textArgument } from './arguments.ts';

/**
 * `fetch_logs ["job"|"agent", filters]` -> `{blobstore_id, sha1}` of a tar.gz with the log files that match a
 * filter (globs below the log folder; everything without filters).
 */
export function fetchLogs(options: { readonly blobs: BlobStore; readonly directories: Directories }): Action {
  return {
    mode: 'asynchronous',
    async run(list) {
      const folder = folderOf(textArgument(list, 0, 'log type'), options.directories);
      const copies = join(options.directories.temporary, `logs-${randomUUID()}`);
      await mkdir(copies, { recursive: true, mode: 0o700 });
      try {
        await copyMatching(folder, copies, filtersOf(list[1]));
        const blob = await options.blobs.create((path) => createArchive(copies, path));
        return { blobstore_id: blob.id, sha1: await sha1OfFile(blob.path) };
      } finally {
        await rm(copies, { recursive: true, force: true });
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

async function copyMatching(folder: string, copies: string, filters: readonly string[]): Promise<void> {
  for await (const name of glob([...filters], { cwd: folder })) {
    const path = join(folder, name);
    if (!(await lstat(path)).isFile()) continue;
    const copy = join(copies, name);
    await mkdir(dirname(copy), { recursive: true });
    await copyFile(path, copy);
  }
}
