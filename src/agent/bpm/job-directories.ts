import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import type { Directories } from '../directories.ts';
import { DirectoryHandle, openPlainFile } from '../file/directory-handle.ts';
import { errorCode } from '../file/error-code.ts';
import { resolveDirectory } from '../file/files.ts';
import type { BpmProcessConfig } from './bpm-config.ts';
import type { ProcessName } from './parse-command.ts';

/** The user that owns a job's directories and runs its processes. */
export interface JobUser {
  readonly userId: number;
  readonly groupId: number;
}

/** The open log files of a process. */
export interface ProcessLogs {
  readonly stdout: FileHandle;
  readonly stderr: FileHandle;
}

/**
 * Creates the directories of a bpm process, makes its user their owner (bpm-release: src/bpm/runc/adapter),
 * and opens its logs. Job users can write to most of these directories, so no link is followed. `user` is
 * undefined if the VM has only one user id.
 */
export async function prepareJobDirectories(
  { job, process }: ProcessName,
  config: BpmProcessConfig,
  directories: Directories,
  user: JobUser | undefined,
): Promise<ProcessLogs> {
  const { data, store, log, run } = directories;
  if (config.persistentDisk && (await resolveDirectory(store)) === undefined) {
    throw new ProductError(
      'AGENT_BPM_FAILED',
      `${job}/${process} needs a persistent disk, but ${store} does not exist`,
    );
  }
  for (const path of config.volumes) await prepareVolume(path, user);
  const own = [
    join(log, job),
    join(run, job),
    join(data, job, 'tmp'),
    ...(config.ephemeralDisk ? [join(data, job)] : []),
    ...(config.persistentDisk ? [join(store, job)] : []),
  ];
  for (const path of own) {
    await using directory = await openOrCreate(path, 0o700);
    if (user !== undefined) await directory.chown(user.userId, user.groupId);
  }
  await using logDirectory = await DirectoryHandle.open(join(log, job));
  const stdout = await openLog(logDirectory, `${process}.stdout.log`, user);
  try {
    return { stdout, stderr: await openLog(logDirectory, `${process}.stderr.log`, user) };
  } catch (error) {
    await stdout.close();
    throw error;
  }
}

/**
 * Prepares an additional volume. An existing directory gets mode 0700, as with bpm. A file only changes its
 * owner.
 */
async function prepareVolume(path: string, user: JobUser | undefined): Promise<void> {
  try {
    await using directory = await openOrCreate(path, 0o700);
    await directory.chown(user?.userId, user?.groupId, 0o700);
  } catch (error) {
    if (!isProductError(error, 'AGENT_PATH_UNSAFE')) throw error;
    await using file = await openPlainFile(path, 'read');
    if (user !== undefined) await file.chown(user.userId, user.groupId);
  }
}

/** Opens a directory. A missing one is created with `mode`, and its missing parents with mode 0755. */
async function openOrCreate(path: string, mode: number): Promise<DirectoryHandle> {
  try {
    return await DirectoryHandle.open(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || path === '/') throw error;
  }
  await using parent = await openOrCreate(dirname(path), 0o755);
  await parent.makeDirectory(basename(path), mode);
  return await parent.directory(basename(path));
}

async function openLog(
  directory: DirectoryHandle,
  name: string,
  user: JobUser | undefined,
): Promise<FileHandle> {
  const file = await directory.openFile(name, 'append', 0o600);
  if (user !== undefined) await file.chown(user.userId, user.groupId);
  return file;
}
