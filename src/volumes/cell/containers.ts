import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { type FileLock, takeFileLock } from '../../platform/file-lock.ts';
import { type PathSegment, parsePathSegment, segmentProblem } from '../../platform/path-segment.ts';
import { readOwnFile } from '../../platform/read-file.ts';
import { replaceFile, syncDirectory } from '../../platform/durable-file.ts';
import { ensurePrivateDirectory } from '../../platform/private-directory.ts';
import type { Volman } from '../volman/volman.ts';
import { missingDirectories, removeEmptyDirectory, withDirectory } from './open-directory.ts';
import { parseJsonObject } from '../../platform/json.ts';

/**
 * The mounts and directories that a container may have made on this machine. The record is written before any
 * of them is made, so that all of them can be removed. It contains no secret.
 */
interface ContainerRecord {
  readonly container: PathSegment;
  /** In the order in which they are mounted. */
  readonly volumes: readonly RecordedVolume[];
  /** The mount points, as paths of this machine. */
  readonly targets: readonly string[];
  /** The directories that were missing on the way to the mount points. Each follows its parent. */
  readonly folders: readonly string[];
}

interface RecordedVolume {
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
  throw new ProductError('INVALID_ARGUMENT', `the name of the container is invalid: ${segmentProblem(text)}`);
}

/**
 * Runs `act` under the lock for records and directories, so that no other cell changes them at the same time.
 */
async function withRecords<T>(state: string, act: () => Promise<T>): Promise<T> {
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
        `another cell has locked the records in '${state}' for ${lockSeconds} seconds; find the process 'volumes cell' that is stuck, and end it`,
      );
    await delay(20);
  }
}

export function writeRecord(state: string, record: ContainerRecord): void {
  replaceFile(join(state, `${record.container}${suffix}`), `${JSON.stringify(record)}\n`);
}

/** Removes the record of a container. The caller must have the container's lock. */
function removeRecord(state: string, container: PathSegment): void {
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
    `'${path}' is not a record of a container; see what its driver has mounted, unmount that, and remove the file`,
  );
}

function parseRecord(text: string): ContainerRecord | undefined {
  const { container, volumes, targets, folders } = parseJsonObject(text) ?? {};
  const name = typeof container === 'string' ? parsePathSegment(container) : undefined;
  if (name === undefined || !Array.isArray(volumes) || !isPaths(targets) || !isPaths(folders))
    return undefined;
  return volumes.every(isVolume) ? { container: name, volumes, targets, folders } : undefined;
}

const isPaths = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((path) => typeof path === 'string' && path.startsWith('/'));

function isVolume(value: unknown): value is RecordedVolume {
  const { driver, volumeId } = { ...(value as Record<string, unknown>) };
  return typeof driver === 'string' && typeof volumeId === 'string';
}

interface ReleaseOptions {
  readonly state: string;
  readonly volman: Volman;
  readonly onStep: (step: string) => void;
}

/**
 * Unmounts the volumes of a container in reverse order, removes its directories and then its record. It can
 * be repeated at any time. Returns the errors of volumes that are still mounted; then the record stays.
 */
export async function releaseContainer({
  record,
  state,
  volman,
  onStep,
}: ReleaseOptions & { readonly record: ContainerRecord }): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const { driver, volumeId } of record.volumes.toReversed()) {
    try {
      await volman.release({ driver, volumeId, containerId: record.container });
      onStep(`unmount ${driver} ${volumeId}`);
    } catch (error) {
      if (!isProductError(error)) throw error;
      failures.push(`volume ${volumeId}: ${error.message}`);
    }
  }
  if (failures.length > 0) return failures;
  await removeMountPoints(state, record.container);
  onStep('forget');
  return [];
}

/**
 * Releases containers of killed cells. Their apps ended with the cells, but their volumes are still mounted.
 * Skips containers of running cells. Returns the errors of volumes that are still mounted.
 */
export async function cleanUpOrphans(
  ports: ReleaseOptions & { readonly log: (line: string) => void },
): Promise<readonly string[]> {
  const state = await ensurePrivateDirectory(ports.state);
  const leftovers: string[] = [];
  for (const { container } of await readRecords(state)) {
    const lock = await lockContainer(state, container);
    if (lock === undefined) continue;
    try {
      // its cell may have ended normally in the meantime
      const record = (await readRecords(state)).find((found) => found.container === container);
      if (record === undefined) continue;
      const rest = await releaseContainer({ ...ports, state, record });
      ports.log(
        rest.length === 0
          ? `container '${container}' ended when its cell was killed; its volumes are unmounted`
          : `container '${container}' ended when its cell was killed; not removed: ${rest.join('; ')}`,
      );
      leftovers.push(...rest);
    } finally {
      lock.release();
    }
  }
  return leftovers;
}

/**
 * Records a container and creates its mount points. Containers may share directories: if a directory on the
 * way to its targets is in the record of another container, this record gets it, too. The last container
 * removes the directories.
 */
export async function createMountPoints(
  state: string,
  claim: Omit<ContainerRecord, 'folders'>,
  recorded: () => void,
): Promise<ContainerRecord> {
  return withRecords(state, async () => {
    const others = new Set((await readRecords(state)).flatMap(({ folders }) => folders));
    const isOnTheWay = (directory: string): boolean =>
      claim.targets.some((target) => `${target}/`.startsWith(`${directory}/`));
    const missing = claim.targets.flatMap((target) => missingDirectories(target));
    const directories = [...new Set([...missing, ...[...others].filter(isOnTheWay)])];
    const record = { ...claim, folders: directories.toSorted((one, other) => one.length - other.length) };
    writeRecord(state, record);
    recorded();
    try {
      for (const target of claim.targets) withDirectory(target, () => undefined, true);
    } catch (error) {
      for (const directory of missing.toReversed()) removeEmptyDirectory(directory);
      removeRecord(state, claim.container);
      throw error;
    }
    return record;
  });
}

/** Removes the directories that no other container needs, and the record. */
async function removeMountPoints(state: string, container: PathSegment): Promise<void> {
  await withRecords(state, async () => {
    const records = await readRecords(state);
    const own = records.find((record) => record.container === container);
    const others = records.filter((record) => record !== own).flatMap(({ targets }) => targets);
    // removing a directory unmounts it in every mount namespace, so directories that other containers need
    // must stay
    const isNeeded = (directory: string): boolean =>
      others.some((target) => `${target}/`.startsWith(`${directory}/`));
    for (const directory of own?.folders.toReversed() ?? [])
      if (!isNeeded(directory)) removeEmptyDirectory(directory);
    removeRecord(state, container);
  });
}
