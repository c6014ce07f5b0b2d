import { createHash } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readOwnFile } from '../../../platform/read-file.ts';
import { replaceFile } from '../../../platform/replace-file.ts';
import type { VolumeName } from '../volumes/volume-name.ts';
import type { VolumeRecord } from './volume-record.ts';
import { parseRecord, recordText } from './volume-record.ts';

const suffix = '.json';

/** What was found in the folder of records. */
export interface LoadedState {
  readonly records: readonly VolumeRecord[];
  /** No driver of ours ever kept records here. */
  readonly isFirstStart: boolean;
  /** Files that are no records, which are set aside as `<name>.unreadable`. */
  readonly unreadable: readonly string[];
}

/** Records of volumes, a file each, in a folder that only this user enters (ensurePrivateDirectory). */
export class StateStore {
  readonly #folder: string;
  readonly #marker: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.#marker = join(folder, 'README');
  }

  /** Written to the disk when it returns; a crash leaves the former record or this one. */
  put(record: VolumeRecord): void {
    replaceFile(this.#pathOf(record.name), recordText(record));
  }

  /** Not brought to the disk: one that a power cut brings back is of a former start of the machine. */
  async delete(name: VolumeName): Promise<void> {
    await rm(this.#pathOf(name), { force: true });
  }

  /** All mounts that are there have their records from now on. */
  markInitialised(): void {
    replaceFile(this.#marker, 'records of volumes, a file each\n');
  }

  async load(): Promise<LoadedState> {
    const records: VolumeRecord[] = [];
    const unreadable: string[] = [];
    for (const file of await readdir(this.#folder)) {
      const path = join(this.#folder, file);
      // what a killed write left
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
    // a name may be as long as a file's, and a draft of the file has a longer one
    return join(this.#folder, `${createHash('sha256').update(name).digest('hex')}${suffix}`);
  }
}
