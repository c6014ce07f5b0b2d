import { mkdir, readdir, readFile, realpath, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { removeTree } from '../platform/remove-tree.ts';
import { isRunning } from './is-running.ts';

/**
 * Returns the real path of the folder that the finished stemcell can replace. Rejects with FILE_EXISTS and
 * the obstacle: content, a file at this path or above it, a mount point, or another build of the same folder.
 */
export async function assertOutputFree(directory: string): Promise<string> {
  const path = await realPathOfMissing(directory);
  const content = await readdir(path).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    if (error.code === 'ENOTDIR') throw outputExists(`'${await existingFileAbove(path)}' is a file`);
    throw error;
  });
  if (content !== undefined && content.length > 0)
    throw outputExists(`'${directory}' already exists and is not empty; remove it`);
  if (content !== undefined && (await isMountPoint(path)))
    throw outputExists(`'${directory}' is a mount point, which the finished folder cannot replace`);
  const running = (await findPartials(path)).find(({ pid }) => pid !== process.pid && isRunning(pid));
  if (running !== undefined)
    throw outputExists(`Another build, process ${running.pid}, is writing '${directory}': wait for it`);
  return path;
}

/** Returns the error for an output that cannot be made. */
export function outputExists(problem: string): ProductError {
  return new ProductError('FILE_EXISTS', `${problem}, or name another folder with --output`);
}

export interface StagingDirectory {
  readonly path: string;
  /** Removes the folder, and the parent folders that were made for it. */
  remove(): Promise<void>;
}

/**
 * Makes an empty folder beside the output for this process. Removes folders that killed builds left there.
 */
export async function createStagingDirectory(location: string): Promise<StagingDirectory> {
  const parent = dirname(location);
  for (const { path, pid } of await findPartials(location))
    if (pid === process.pid || !isRunning(pid)) await removeTree(path, { within: parent });
  const first = await mkdir(parent, { recursive: true });
  const path = join(parent, `${prefixOf(location)}${process.pid}`);
  await mkdir(path);
  return {
    path,
    remove: async () => {
      await removeTree(path, { within: parent });
      if (first !== undefined) await removeEmpty(parent, first);
    },
  };
}

const prefixOf = (path: string): string => `.${basename(path)}.partial.`;

async function findPartials(
  path: string,
): Promise<readonly { readonly path: string; readonly pid: number }[]> {
  const [parent, prefix] = [dirname(path), prefixOf(path)];
  const names = await readdir(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const pids = names.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  return pids.flatMap((pid) =>
    /^[1-9]\d*$/.test(pid) ? [{ path: join(parent, `${prefix}${pid}`), pid: Number(pid) }] : [],
  );
}

/**
 * Returns the real path of a folder that exists or will be made: the final rename must not replace a symbolic
 * link.
 */
async function realPathOfMissing(directory: string): Promise<string> {
  try {
    return await realpath(directory);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (error.code === 'ENOTDIR') return directory;
    if (error.code !== 'ENOENT') throw error;
    const parent = dirname(directory);
    const names = await readdir(parent).catch((): string[] => []);
    if (names.includes(basename(directory)))
      throw outputExists(`'${directory}' is a symbolic link without a target; remove it`);
    return parent === directory ? directory : join(await realPathOfMissing(parent), basename(directory));
  }
}

/** Returns the path, or its nearest parent that exists. */
async function existingFileAbove(path: string): Promise<string> {
  try {
    await stat(path);
    return path;
  } catch {
    return existingFileAbove(dirname(path));
  }
}

/**
 * Uses the kernel's list (proc(5)), which has octal numbers for blanks. Without such a list, no path is a
 * mount point.
 */
async function isMountPoint(path: string): Promise<boolean> {
  const list = await readFile('/proc/self/mountinfo', 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const mountPoints = list.split('\n').map((line) => line.split(' ')[4] ?? '');
  return mountPoints.some(
    (mountPoint) =>
      mountPoint.replaceAll(/\\(\d{3})/g, (_, digits: string) =>
        String.fromCharCode(Number.parseInt(digits, 8)),
      ) === path,
  );
}

/** Removes folders from one up to another one, as long as they are empty. */
async function removeEmpty(from: string, last: string): Promise<void> {
  try {
    for (let path = from; ; path = dirname(path)) {
      await rmdir(path);
      if (path === last) return;
    }
  } catch (error) {
    // Another process has a file there, or was faster.
    if (
      error instanceof Error &&
      'code' in error &&
      ['ENOTEMPTY', 'ENOENT', 'EEXIST'].includes(String(error.code))
    )
      return;
    throw error;
  }
}
