import { closeSync, openSync } from 'node:fs';
import { copyFile, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, errorMessage } from '../file/error-code.ts';
import { outputTail } from '../file/files.ts';
import type { Log } from '../log.ts';

const sizeLimit = 1024 ** 2;
const tailLines = 10;

/**
 * Keeps the output of the programs of services, which monit discards: one file per service, in a directory
 * that only root can enter. A process that such a program leaves behind keeps writing there.
 */
export class ProgramOutput {
  readonly #directory: string;
  readonly #log: Log;

  constructor(directory: string, log: Log) {
    this.#directory = directory;
    this.#log = log;
  }

  pathOf(name: string): string {
    return join(this.#directory, `${encodeURIComponent(name)}.log`);
  }

  /**
   * Calls `start` with a descriptor for the output. Calls it without one if the file cannot be opened, for
   * example on a full disk, because the job is more important.
   */
  with<T>(name: string, start: (descriptor: number | undefined) => T): T {
    const descriptor = this.#open(name);
    try {
      return start(descriptor);
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  /** Copies a file that is larger than 1 MiB to `.1` and truncates it. Its writers keep their descriptors. */
  async rotate(name: string): Promise<void> {
    const path = this.pathOf(name);
    try {
      if ((await stat(path)).size <= sizeLimit) return;
      await copyFile(path, `${path}.1`);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return;
      // If the copy fails, the file is still truncated, so that it does not fill the disk.
      this.#log.error(`the output of '${name}' cannot be saved: ${errorMessage(error)}`);
    }
    await truncate(path);
  }

  /** Returns the last lines, or an empty text if nothing was printed. */
  async tail(name: string): Promise<string> {
    try {
      const { text } = await outputTail(this.pathOf(name));
      return text.trimEnd().split('\n').slice(-tailLines).join('\n');
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return '';
      throw error;
    }
  }

  #open(name: string): number | undefined {
    try {
      return openSync(this.pathOf(name), 'a', 0o600);
    } catch (error) {
      this.#log.error(`the output of '${name}' cannot be saved: ${errorMessage(error)}`);
      return undefined;
    }
  }
}
