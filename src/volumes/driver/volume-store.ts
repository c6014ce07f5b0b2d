import { createHash } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readOwnFile } from '../../platform/read-file.ts';
import { replaceFile } from '../../platform/durable-file.ts';
import { type VolumeName, parseVolumeName } from '../options/volume-name.ts';
import { isObject, parseJsonObject } from '../../platform/json.ts';

const suffix = '.json';

/** The content of the directory of records. */
interface LoadedState {
  readonly records: readonly VolumeRecord[];
  /** True if no such driver ever kept records here. */
  readonly isFirstStart: boolean;
  /** Files that are not valid records. They are renamed to `<name>.unreadable`. */
  readonly unreadable: readonly string[];
}

/**
 * Stores the records of volumes, one file each, in a directory that only this user can enter
 * (ensurePrivateDirectory).
 */
export class VolumeStore {
  readonly #directory: string;
  readonly #marker: string;

  constructor(directory: string) {
    this.#directory = directory;
    this.#marker = join(directory, 'README');
  }

  /**
   * Writes a record. It is durable when this returns; a crash leaves either the previous record or this one.
   */
  put(record: VolumeRecord): void {
    replaceFile(this.#pathOf(record.name), recordText(record));
  }

  /**
   * Deletes a record without fsync. If a power cut restores the record, its boot id is that of an earlier
   * start of the machine.
   */
  async delete(name: VolumeName): Promise<void> {
    await rm(this.#pathOf(name), { force: true });
  }

  /** Records that from now on every mount has a record. */
  markInitialised(): void {
    replaceFile(this.#marker, 'records of volumes, a file each\n');
  }

  async load(): Promise<LoadedState> {
    const records: VolumeRecord[] = [];
    const unreadable: string[] = [];
    for (const file of await readdir(this.#directory)) {
      const path = join(this.#directory, file);
      // removes a temporary file of a killed write
      if (file.endsWith('.new')) await rm(path);
      if (!file.endsWith(suffix)) continue;
      const record = parseRecord((await readOwnFile(path)) ?? '');
      if (record !== undefined && path === this.#pathOf(record.name)) records.push(record);
      else {
        await rename(path, `${path}.unreadable`);
        unreadable.push(file);
      }
    }
    return { records, unreadable, isFirstStart: (await readOwnFile(this.#marker)) === undefined };
  }

  #pathOf(name: VolumeName): string {
    // hashes the name: it may be as long as a file name can be, and the temporary file needs a longer one
    return join(this.#directory, `${createHash('sha256').update(name).digest('hex')}${suffix}`);
  }
}

/** The file in the mount directory in which the old drivers kept their volumes. */
export const oldStateFile = 'driver-state.json';

/**
 * Returns how often an old driver has mounted each volume, by name. Returns an empty map if there is no such
 * file.
 */
export async function readLegacyMountCounts(path: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const [name, volume] of Object.entries(parseJsonObject((await readOwnFile(path)) ?? '') ?? {})) {
    const count: unknown =
      typeof volume === 'object' && volume !== null && 'MountCount' in volume && volume.MountCount;
    if (typeof count === 'number' && Number.isSafeInteger(count) && count > 0) counts.set(name, count);
  }
  return counts;
}

/**
 * The phase of a volume. `mounting` and `unmounting` are written before the work begins: after a kill -9
 * there may be a mount, or a part of one.
 */
export type Phase = 'created' | 'mounting' | 'mounted' | 'unmounting';

const phases: readonly string[] = ['created', 'mounting', 'mounted', 'unmounting'] satisfies Phase[];

/** The stored record of a volume. It contains no secret. */
export interface VolumeRecord {
  readonly name: VolumeName;
  readonly phase: Phase;
  /** The options of Create, without secrets. */
  readonly options: Readonly<Record<string, unknown>>;
  /** True if the options had secrets, which are not in `options`. Only another Create provides them again. */
  readonly lacksSecrets: boolean;
  /** The number of mounts without an id; volman sends none. */
  readonly count: number;
  /** The mount ids of Docker. */
  readonly ids: readonly string[];
  /**
   * True for a volume that Docker mounts: it survives its last unmount until Remove. volman never calls
   * Remove, so its volumes are deleted at the last unmount.
   */
  readonly isKept: boolean;
  /** The boot id of the kernel that has the mount. */
  readonly bootId: string;
}

const version = 1;

/** Returns the text of a record's file. */
export const recordText = (record: VolumeRecord): string => `${JSON.stringify({ version, ...record })}\n`;

/** Parses the text of a record's file. Returns undefined if it is not a valid record. */
function parseRecord(text: string): VolumeRecord | undefined {
  const value = parseJsonObject(text) ?? {};
  const { phase, options, lacksSecrets, count, ids, isKept, bootId } = value;
  const parsed = parseVolumeName(value['name']);
  if (value['version'] !== version || 'problem' in parsed || typeof bootId !== 'string') return undefined;
  if (typeof phase !== 'string' || !isPhase(phase) || !isObject(options)) return undefined;
  if (typeof isKept !== 'boolean' || typeof lacksSecrets !== 'boolean') return undefined;
  if (!isCount(count) || !isTexts(ids)) return undefined;
  return { name: parsed.name, phase, options, lacksSecrets, count, ids, isKept, bootId };
}

const isPhase = (text: string): text is Phase => phases.includes(text);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');
