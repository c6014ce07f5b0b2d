import { createHash } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../../../src/platform/durable-file.ts';
import type { AccessModeName } from './messages.ts';

/**
 * One driver's directory, shared by the controller and all nodes: records as JSON, blocks as sparse files,
 * and violations in `<volume>.violations`, one JSON object per line. The violations stay when the volume is
 * deleted.
 */
export interface VolumeStore {
  image(volumeId: string): string;
  snapshotImage(snapshotId: string): string;
  /**
   * The file that exists once the image has a file system. An image that looks blank after that is damaged,
   * not new.
   */
  formattedMark(volumeId: string): string;
  volume(id: string): Promise<VolumeRecord | undefined>;
  snapshot(id: string): Promise<SnapshotRecord | undefined>;
  volumes(): Promise<VolumeRecord[]>;
  snapshots(): Promise<SnapshotRecord[]>;
  saveVolume(record: VolumeRecord): Promise<void>;
  saveSnapshot(record: SnapshotRecord): Promise<void>;
  removeVolume(id: string): Promise<void>;
  removeSnapshot(id: string): Promise<void>;
  addNode(nodeId: string, zone: string | undefined): Promise<void>;
  hasNode(nodeId: string): Promise<boolean>;
  report(volumeId: string, violation: Violation): Promise<void>;
  violations(volumeId: string): Promise<Violation[]>;
  /** Returns the files of pulled images that still need to be removed. */
  pulled(volumeId: string): Promise<string[]>;
}

const safeName = /^[a-z0-9][a-z0-9-]{0,62}$/;

/**
 * Returns an id that is a valid file name. It is the same for the same name, so that a repeated create finds
 * the first volume.
 */
export function idOf(name: string): string {
  return safeName.test(name) ? name : `h-${createHash('sha256').update(name).digest('hex').slice(0, 40)}`;
}

/** Returns false for an id that this driver never returned, which must not be used as a path. */
export function isId(id: string): boolean {
  return safeName.test(id);
}

export async function openVolumeStore(directory: string): Promise<VolumeStore> {
  const volumes = join(directory, 'volumes');
  const snapshots = join(directory, 'snapshots');
  const nodes = join(directory, 'nodes');
  for (const each of [volumes, snapshots, nodes]) {
    await mkdir(each, { recursive: true, mode: 0o700 });
  }
  const image = (id: string): string => join(volumes, `${id}.img`);
  const snapshotImage = (id: string): string => join(snapshots, `${id}.img`);
  const mark = (id: string): string => join(volumes, `${id}.formatted`);
  const pulled = async (id: string): Promise<string[]> =>
    (await readdir(volumes))
      .filter((name) => name.startsWith(`${id}.pulled.`))
      .map((name) => join(volumes, name));
  return {
    image,
    snapshotImage,
    formattedMark: mark,
    pulled,
    volume: (id) => readRecord<VolumeRecord>(join(volumes, `${id}.json`), image(id)),
    snapshot: (id) => readRecord<SnapshotRecord>(join(snapshots, `${id}.json`), snapshotImage(id)),
    volumes: () => readAll<VolumeRecord>(volumes, image),
    snapshots: () => readAll<SnapshotRecord>(snapshots, snapshotImage),
    saveVolume: async (record) => replaceFile(join(volumes, `${record.id}.json`), JSON.stringify(record)),
    saveSnapshot: async (record) => replaceFile(join(snapshots, `${record.id}.json`), JSON.stringify(record)),
    removeVolume: async (id) => {
      // The record is removed last, so that the next call continues an interrupted deletion.
      for (const path of [...(await pulled(id)), image(id), mark(id), join(volumes, `${id}.json`)]) {
        await rm(path, { force: true });
      }
    },
    removeSnapshot: async (id) => {
      for (const path of [snapshotImage(id), join(snapshots, `${id}.json`)]) {
        await rm(path, { force: true });
      }
    },
    addNode: async (nodeId, zone) =>
      replaceFile(join(nodes, `${nodeId}.json`), JSON.stringify({ nodeId, zone })),
    hasNode: (nodeId) => exists(join(nodes, `${nodeId}.json`)),
    report: (id, violation) =>
      appendFile(join(volumes, `${id}.violations`), `${JSON.stringify(violation)}\n`),
    violations: async (id) => {
      const text = await readText(join(volumes, `${id}.violations`));
      const lines = (text ?? '').split('\n').filter((line) => line !== '');
      return lines.map((line) => JSON.parse(line) as Violation);
    },
  };
}

export async function fileState(path: string): Promise<FileState> {
  const { size, mtimeNs } = await stat(path, { bigint: true });
  return { size: String(size), modifiedNs: String(mtimeNs) };
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Returns the record, or undefined if the record or the blocks do not exist. Missing blocks are those of an
 * interrupted deletion.
 */
async function readRecord<T>(path: string, image: string): Promise<T | undefined> {
  const text = await readText(path);
  return text === undefined || !(await exists(image)) ? undefined : (JSON.parse(text) as T);
}

async function readAll<T>(directory: string, image: (id: string) => string): Promise<T[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.json')).toSorted();
  const records = await Promise.all(
    names.map((name) => readRecord<T>(join(directory, name), image(name.slice(0, -'.json'.length)))),
  );
  return records.filter((record) => record !== undefined);
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The controller's record of a volume. Only the controller writes it. The blocks are in a file beside it. */
export interface VolumeRecord {
  readonly id: string;
  readonly capacityBytes: number;
  readonly source?: ContentSource;
  readonly mutableParameters: Readonly<Record<string, string>>;
  readonly zone?: string;
  /** The volume is emptied whenever a node stages it. A test that looks for lost data must detect this. */
  readonly isForgetful?: true;
  readonly publication?: Publication;
  /**
   * The state of the file when no node had it any more. Any later change before the next publish is a
   * violation.
   */
  readonly atRest?: FileState;
}

export type ContentSource =
  | { readonly kind: 'snapshot'; readonly id: string }
  | { readonly kind: 'volume'; readonly id: string };

interface Publication {
  readonly nodeId: string;
  readonly readonly: boolean;
  readonly mode: AccessModeName;
}

interface FileState {
  readonly size: string;
  readonly modifiedNs: string;
}

export interface SnapshotRecord {
  readonly id: string;
  readonly volumeId: string;
  readonly sizeBytes: number;
  /** False if the volume was never on a node, and so has no file system. */
  readonly isFormatted: boolean;
  readonly createdMs: number;
}

/** A use of a disk that must never happen. */
export interface Violation {
  readonly at: string;
  readonly kind: 'taken-while-held' | 'written-at-rest';
  readonly nodeId: string;
  readonly detail: string;
  /** The paths where the disk was still mounted, each with a process that sees it: `pid 7 at /path`. */
  readonly holders: readonly string[];
}

/**
 * Runs actions with the same key one after the other. Returns the result or the error of the action to its
 * caller.
 */
export type KeyedLock = <T>(key: string, action: () => Promise<T>) => Promise<T>;

export function keyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  return (key, action) => {
    const previous = tails.get(key) ?? Promise.resolve();
    const current = previous.then(action, action);
    // The next action waits for the end of this one, whether it succeeds or fails.
    const tail = current.then(
      () => undefined,
      () => undefined,
    );
    tails.set(key, tail);
    void tail.then(() => {
      if (tails.get(key) === tail) tails.delete(key);
    });
    return current;
  };
}
