import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdir, statfs } from 'node:fs/promises';
import { dirname, join, matchesGlob } from 'node:path';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { Directories } from '../directories.ts';
import { createArchive } from './archive.ts';
import { DirectoryHandle, removeTree } from './directory-handle.ts';
import { errorCode } from './error-code.ts';

// Job users create directories in the log directory, and each level of the walk needs an open descriptor.
const depthLimit = 32;

export interface LogSelection {
  readonly directories: readonly { readonly path: string; readonly prefix: string }[];
  /** Globs relative to each directory. */
  readonly filters: readonly string[];
}

/**
 * Reads the log types `job`, `agent` and `system`, joined by commas, and a list of filters (bosh-agent:
 * agent/logstarprovider). Without filters, every file is selected.
 */
export function parseLogSelection(types: string, filters: unknown, directories: Directories): LogSelection {
  return {
    directories: types.split(',').map((type) => logDirectory(type, directories)),
    filters: parseFilters(filters),
  };
}

function logDirectory(type: string, directories: Directories): LogSelection['directories'][number] {
  switch (type) {
    case 'job':
      return { path: directories.log, prefix: '' };
    case 'agent':
      return { path: directories.agentLog, prefix: '' };
    case 'system':
      return { path: '/var/log', prefix: 'var/log' };
    default:
      throw new ProductError(
        'AGENT_NOT_SUPPORTED',
        `the log type must be job, agent or system, not '${type}'`,
      );
  }
}

function parseFilters(argument: unknown): readonly string[] {
  if (!Array.isArray(argument) || argument.length === 0) return ['**/*'];
  return argument.map((filter: unknown) => {
    if (typeof filter === 'string' && !filter.startsWith('/') && !filter.split('/').includes('..'))
      return filter;
    throw new ProductError(
      'AGENT_ARGUMENT_INVALID',
      'a log filter must be a glob relative to the log directory',
    );
  });
}

/**
 * Packs the selected files into a tar.gz at `archive`, which must not exist. Job users can write to the log
 * directory: links are not followed, and only plain files with a link count of 1 are packed.
 */
export async function collectLogs(
  { directories: allDirectories, filters }: LogSelection,
  archive: string,
  directories: Directories,
): Promise<void> {
  const target = join(directories.temporary, `logs-${randomUUID()}`);
  await mkdir(target, { mode: 0o700 });
  try {
    const { bavail, bsize } = await statfs(target);
    const copying = { target, filters, remainingBytes: bavail * bsize };
    for (const { path, prefix } of allDirectories) {
      await using logs = await DirectoryHandle.open(path);
      await copyMatching(logs, { below: '', prefix }, copying);
    }
    await createArchive(target, archive);
  } finally {
    await removeTree(target);
  }
}

interface CopyContext {
  readonly target: string;
  readonly filters: readonly string[];
  remainingBytes: number;
}

/**
 * Copies the matching files of a directory to `prefix` in the target. `below` is the directory's path in the
 * log directory.
 */
async function copyMatching(
  directory: DirectoryHandle,
  { below, prefix }: { readonly below: string; readonly prefix: string },
  copying: CopyContext,
  depth = 0,
): Promise<void> {
  for (const name of await directory.names()) {
    const text = name.toString();
    // Skip names that are not valid UTF-8: after decoding they could collide with another file's name.
    if (!Buffer.from(text).equals(name)) continue;
    const path = join(below, text);
    const kind = await ifStillExpectedKind(directory.stat(name));
    if (kind?.isDirectory() && depth < depthLimit) {
      await using child = await ifStillExpectedKind(directory.directory(name));
      if (child !== undefined) await copyMatching(child, { below: path, prefix }, copying, depth + 1);
    }
    if (!kind?.isFile() || !copying.filters.some((filter) => matchesGlob(path, filter))) continue;
    await using file = await ifStillExpectedKind(directory.openFile(name, 'read'));
    if (file === undefined) continue;
    copying.remainingBytes -= (await file.stat()).size;
    if (copying.remainingBytes < 0) {
      throw new ProductError(
        'AGENT_NOT_SUPPORTED',
        `there is not enough free space for the logs in ${copying.target}: exclude ${path} or other files with a filter`,
      );
    }
    const copy = join(copying.target, prefix, path);
    await mkdir(dirname(copy), { recursive: true });
    await copyFile(`/proc/self/fd/${file.fd}`, copy, constants.COPYFILE_EXCL);
  }
}

/** Returns undefined if the entry was deleted or changed its type after it was listed. */
async function ifStillExpectedKind<T>(opening: Promise<T>): Promise<T | undefined> {
  try {
    return await opening;
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || isProductError(error, 'AGENT_PATH_UNSAFE')) return undefined;
    throw error;
  }
}
