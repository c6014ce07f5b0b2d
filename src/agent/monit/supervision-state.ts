import { join } from 'node:path';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/files.ts';
import type { ProcessIdentity } from '../process/process-table.ts';
import { parseJsonObject, isObject } from '../../platform/json.ts';

/** The record of a service, or of a job, that survives a restart of the agent. */
export interface SupervisionRecord {
  /** The process that was accepted last. */
  readonly known?: ProcessIdentity | undefined;
  /** The launch mark of its start program; for a job, of its scripts. */
  readonly mark?: string | undefined;
  /** True if the monit command stopped or unmonitored the service. */
  readonly isLeftAlone?: boolean | undefined;
}

/**
 * The records of all services in monit/processes.json, or of all jobs in monit/scripts.json, so that a
 * restarted agent recognises their processes.
 */
export class SupervisionStateFile {
  readonly #path: string;
  readonly #records = new Map<string, SupervisionRecord>();
  #writing: Promise<void> = Promise.resolve();

  constructor(directories: Directories, name: 'processes' | 'scripts') {
    this.#path = join(directories.monit, `${name}.json`);
  }

  /**
   * Reads the file of an earlier run. Ignores a file that is not valid JSON, since the pidfiles are enough.
   */
  async load(): Promise<void> {
    const records = parseJsonObject((await readFileIfPresent(this.#path)) ?? '{}') ?? {};
    for (const [name, value] of Object.entries(records)) this.#records.set(name, parseRecord(value));
  }

  get(name: string): SupervisionRecord {
    return this.#records.get(name) ?? {};
  }

  /** Stores a record. Writes happen one after another. */
  async set(name: string, record: SupervisionRecord): Promise<void> {
    this.#records.set(name, record);
    const write = async (): Promise<void> =>
      writeDurableFile(this.#path, JSON.stringify(Object.fromEntries(this.#records)));
    this.#writing = this.#writing.then(write, write);
    await this.#writing;
  }
}

function parseRecord(value: unknown): SupervisionRecord {
  if (!isObject(value)) return {};
  const { known, mark, isLeftAlone } = value;
  return {
    ...(isIdentity(known) ? { known } : {}),
    ...(typeof mark === 'string' ? { mark } : {}),
    ...(isLeftAlone === true ? { isLeftAlone } : {}),
  };
}

function isIdentity(value: unknown): value is ProcessIdentity {
  return isObject(value) && typeof value['pid'] === 'number' && typeof value['startTicks'] === 'number';
}
