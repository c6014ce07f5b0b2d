import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ProductError } from '../../errors/product-error.ts';
import { type FileLock, takeFileLock } from '../../platform/file-lock.ts';
import { type PathSegment, parsePathSegment, segmentProblem } from '../../platform/path-segment.ts';
import { readOwnFile } from '../../platform/read-file.ts';
import { replaceFile, syncDirectory } from '../../platform/durable-file.ts';

/**
 * The mounts and directories that a container may have made on this machine. The record is written before any
 * of them is made, so that all of them can be removed. It contains no secret.
 */
export interface ContainerRecord {
  readonly container: PathSegment;
  /** In the order in which they are mounted. */
  readonly volumes: readonly RecordedVolume[];
  /** The mount points, as paths of this machine. */
  readonly targets: readonly string[];
  /** The directories that were missing on the way to the mount points. Each follows its parent. */
  readonly folders: readonly string[];
}

export interface RecordedVolume {
  readonly driver: string;
  readonly volumeId: string;
}

const suffix = '.container.json';
const lockSeconds = 60;

/** Takes the lock that a container's cell keeps while it runs. Returns undefined if another cell has it. */
export async function lockContainer(state: string, container: PathSegment): Promise<FileLock | undefined> {
  return takeFileLock(state, lockName(`${container}.lock`));
}

function lockName(text: string): PathSegment {
  const name = parsePathSegment(text);
  if (name !== undefined) return name;
  throw new ProductError('INVALID_ARGUMENT', `the name of the container is wrong: ${segmentProblem(text)}`);
}

/**
 * Runs `act` under the lock for records and directories, so that no other cell changes them at the same time.
 */
export async function withRecords<T>(state: string, act: () => Promise<T>): Promise<T> {
  for (let waited = 0; ; waited += 0.02) {
    const lock = await takeFileLock(state, lockName('records.lock'));
    if (lock !== undefined) {
      try {
        return await act();
      } finally {
        lock.release();
      }
    }
    if (waited > lockSeconds)
      throw new ProductError(
        'DEADLINE',
        `another cell has held the records in '${state}' for ${lockSeconds} seconds; look for a 'volumes cell' that is stuck, and end it`,
      );
    await delay(20);
  }
}

export function writeRecord(state: string, record: ContainerRecord): void {
  replaceFile(join(state, `${record.container}${suffix}`), `${JSON.stringify(record)}\n`);
}

/** Removes the record of a container. The caller must have the container's lock. */
export function removeRecord(state: string, container: PathSegment): void {
  rmSync(join(state, `${container}${suffix}`), { force: true });
  syncDirectory(state);
  // SQLite keeps a journal file beside a lock that is taken
  for (const ending of ['lock', 'lock-journal'])
    rmSync(join(state, `${container}.${ending}`), { force: true });
}

export async function readRecords(state: string): Promise<readonly ContainerRecord[]> {
  const names = readdirSync(state).filter((name) => name.endsWith(suffix));
  const records = await Promise.all(names.map((name) => readRecord(join(state, name))));
  return records.filter((record) => record !== undefined);
}

/**
 * Reads a record. Rejects with STATE_INVALID if the file is not a valid record: it lists mounts, so it must
 * not be skipped.
 */
async function readRecord(path: string): Promise<ContainerRecord | undefined> {
  const text = await readOwnFile(path);
  if (text === undefined) return undefined;
  const record = parseRecord(text);
  if (record !== undefined && path.endsWith(`/${record.container}${suffix}`)) return record;
  throw new ProductError(
    'STATE_INVALID',
    `'${path}' is no record of a container; see what its driver has mounted, unmount that, and remove the file`,
  );
}

function parseRecord(text: string): ContainerRecord | undefined {
  try {
    const { container, volumes, targets, folders } = { ...(JSON.parse(text) as Record<string, unknown>) };
    const name = typeof container === 'string' ? parsePathSegment(container) : undefined;
    if (name === undefined || !Array.isArray(volumes) || !isPaths(targets) || !isPaths(folders))
      return undefined;
    return volumes.every(isVolume) ? { container: name, volumes, targets, folders } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const isPaths = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((path) => typeof path === 'string' && path.startsWith('/'));

function isVolume(value: unknown): value is RecordedVolume {
  const { driver, volumeId } = { ...(value as Record<string, unknown>) };
  return typeof driver === 'string' && typeof volumeId === 'string';
}
