import { join } from 'node:path';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/durable-file.ts';
import type { ProcessIdentity } from '../process/process-table.ts';
import { isObject } from '../settings/json.ts';

/** What is kept of a process over a restart of the agent. */
export interface SupervisionRecord {
  /** The process that was accepted last. */
  readonly known?: ProcessIdentity | undefined;
  /** The mark of its start program, and so of all that this began. */
  readonly mark?: string | undefined;
  /** True where the monit command stopped or unmonitored it. */
  readonly isLeftAlone?: boolean | undefined;
}

/** Which process each name was last, in monit/processes.json, so that a restarted agent knows them again. */
export class SupervisionStateFile {
  readonly #path: string;
  readonly #records = new Map<string, SupervisionRecord>();
  #writing: Promise<void> = Promise.resolve();

  constructor(directories: Directories) {
    this.#path = join(directories.monit, 'processes.json');
  }

  /** Reads the file of an earlier life; one that cannot be read counts as none, pidfiles tell the rest. */
  async load(): Promise<void> {
    for (const [name, value] of Object.entries(parse(await readFileIfPresent(this.#path)))) {
      this.#records.set(name, recordOf(value));
    }
  }

  get(name: string): SupervisionRecord {
    return this.#records.get(name) ?? {};
  }

  /** Keeps the record of a process; writes are one after the other. */
  async set(name: string, record: SupervisionRecord): Promise<void> {
    this.#records.set(name, record);
    const write = async (): Promise<void> =>
      writeDurableFile(this.#path, JSON.stringify(Object.fromEntries(this.#records)));
    this.#writing = this.#writing.then(write, write);
    await this.#writing;
  }
}

function parse(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return isObject(value) ? value : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

function recordOf(value: unknown): SupervisionRecord {
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
