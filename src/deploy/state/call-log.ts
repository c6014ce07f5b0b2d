import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, writeSync } from 'node:fs';
import { replaceFile } from '../../platform/durable-file.ts';

/** A file with more bytes than this loses its older half: some 3000 calls, which is more than 100 deploys. */
const maxBytes = 1024 * 1024;

export const callLogPathFor = (statePath: string): string => `${statePath}.trace`;

/**
 * The file beside the state file with the records of the CPI calls, which `bosh-kubernetes trace` draws.
 * A run does not need it, so if it cannot be written, the run continues with a warning and without it.
 */
export class CallLog {
  readonly #path: string;
  readonly #warn: (message: string) => void;
  #isBroken = false;

  constructor(statePath: string, warn: (message: string) => void) {
    this.#path = callLogPathFor(statePath);
    this.#warn = warn;
  }

  /** Removes the older half of a file that has become too long. Not safe beside another run. */
  limit(): void {
    this.#attempt(() => {
      if (!existsSync(this.#path)) return;
      const content = this.#open(constants.O_RDONLY, (file, size) =>
        size > maxBytes ? readFileSync(file) : undefined,
      );
      if (content === undefined) return;
      const half = content.indexOf('\n', content.length - maxBytes / 2);
      replaceFile(this.#path, content.subarray(half + 1));
    });
  }

  append(line: string): void {
    this.#attempt(() => {
      this.#open(constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, (file) =>
        writeSync(file, `${line}\n`),
      );
    });
  }

  /** Opens the file only if it is a regular one of this user: another one may have put a link there. */
  #open<T>(flags: number, use: (file: number, size: number) => T): T {
    const { O_NOFOLLOW, O_NONBLOCK } = constants;
    const file = openSync(this.#path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600);
    try {
      const found = fstatSync(file);
      if (!found.isFile() || found.uid !== process.geteuid?.())
        throw new Error('it is not a regular file of this user');
      return use(file, found.size);
    } finally {
      closeSync(file);
    }
  }

  #attempt(write: () => void): void {
    if (this.#isBroken) return;
    try {
      write();
    } catch (error) {
      this.#isBroken = true;
      const cause = error instanceof Error ? error.message : String(error);
      this.#warn(
        `The records of the CPI calls are not kept, because '${this.#path}' cannot be written (${cause}); the run does not need them. Remove the file, or free space, before you want to trace a run`,
      );
    }
  }
}
