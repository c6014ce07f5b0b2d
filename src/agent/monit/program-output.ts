import { closeSync, openSync } from 'node:fs';
import { copyFile, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, errorText } from '../file/error-code.ts';
import { outputTail } from '../file/output-tail.ts';
import type { Log } from '../log.ts';

const sizeLimit = 1024 ** 2;
const tailLines = 10;

/**
 * Keeps what the programs of services print, where monit throws it away: a file for each service in a folder
 * that only root enters. A process that such a program leaves behind goes on writing there.
 */
export class ProgramOutput {
  readonly #folder: string;
  readonly #log: Log;

  constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  pathOf(name: string): string {
    return join(this.#folder, `${encodeURIComponent(name)}.log`);
  }

  /**
   * Runs `start` with a descriptor to print to; without one where the disk is full, as a job matters more.
   */
  with<T>(name: string, start: (descriptor: number | undefined) => T): T {
    const descriptor = this.#open(name);
    try {
      return start(descriptor);
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  /** Begins anew with what is larger than 1 MiB, and keeps that as `.1`. What writes to it goes on. */
  async rotate(name: string): Promise<void> {
    const path = this.pathOf(name);
    try {
      if ((await stat(path)).size <= sizeLimit) return;
      await copyFile(path, `${path}.1`);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return;
      // what cannot be kept must not fill the disk further
      this.#log.error(`the output of '${name}' is not kept: ${errorText(error)}`);
    }
    await truncate(path);
  }

  /** The last lines; empty where nothing was printed. */
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
      this.#log.error(`the output of '${name}' is not kept: ${errorText(error)}`);
      return undefined;
    }
  }
}
