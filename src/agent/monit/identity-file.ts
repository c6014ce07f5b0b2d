import { join } from 'node:path';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/durable-file.ts';
import type { ProcessIdentity } from '../process/process-table.ts';
import { isObject } from '../settings/json.ts';

/** Which process each name was last, in monit/processes.json, so that a restarted agent knows them again. */
export class IdentityFile {
  readonly #path: string;
  readonly #identities = new Map<string, ProcessIdentity>();
  #writing: Promise<void> = Promise.resolve();

  constructor(directories: Directories) {
    this.#path = join(directories.monit, 'processes.json');
  }

  /** Reads the file of an earlier life; one that cannot be read counts as none, pidfiles tell the rest. */
  async load(): Promise<void> {
    for (const [name, identity] of Object.entries(parse(await readFileIfPresent(this.#path)))) {
      this.#identities.set(name, identity);
    }
  }

  get(name: string): ProcessIdentity | undefined {
    return this.#identities.get(name);
  }

  /** Records or forgets a process; writes are one after the other. */
  async set(name: string, identity: ProcessIdentity | undefined): Promise<void> {
    if (identity === undefined) this.#identities.delete(name);
    else this.#identities.set(name, identity);
    const write = async (): Promise<void> =>
      writeDurableFile(this.#path, JSON.stringify(Object.fromEntries(this.#identities)));
    this.#writing = this.#writing.then(write, write);
    await this.#writing;
  }
}

function parse(text: string | undefined): Record<string, ProcessIdentity> {
  let value: unknown;
  try {
    value = JSON.parse(text ?? '{}');
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, ProcessIdentity] => isIdentity(entry[1])),
  );
}

function isIdentity(value: unknown): value is ProcessIdentity {
  return isObject(value) && typeof value['pid'] === 'number' && typeof value['startTicks'] === 'number';
}
