import { createHash } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readOwnFile } from '../../../platform/read-file.ts';
import { replaceFile } from '../../../platform/durable-file.ts';
import type { VolumeName } from '../volumes/volume-name.ts';
import { type VolumeRecord, parseRecord, recordText } from './volume-record.ts';

const suffix = '.json';

/** The content of the directory of records. */
export interface LoadedState {
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
export class StateStore {
  readonly #folder: string;
  readonly #marker: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#marker = join(folder, 'README');
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
    for (const file of await readdir(this.#folder)) {
      const path = join(this.#folder, file);
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
    return join(this.#folder, `${createHash('sha256').update(name).digest('hex')}${suffix}`);
  }
}
