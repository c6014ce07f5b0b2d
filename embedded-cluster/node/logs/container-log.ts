import type { EventEmitter } from 'node:events';
import { closeSync, fstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { withPath } from '../../../src/platform/write-file.ts';
import { formatRecord, LineSplitter, type LogStream } from './cri-log.ts';

/** kubelet's containerLogMaxSize and containerLogMaxFiles (kubelet config v1beta1). */
const rotation = { bytes: 10 * 1024 * 1024, files: 5 };

/** Writes the output of one run of a container to `<n>.log` in the CRI format and rotates it by size. */
export class ContainerLog {
  readonly path: string;
  readonly #now: () => Date;
  readonly #changes: EventEmitter;
  readonly #cutters: Record<LogStream, LineSplitter> = {
    stdout: new LineSplitter('stdout'),
    stderr: new LineSplitter('stderr'),
  };
  #file: number;
  #size: number;
  #closed = false;

  private constructor(path: string, now: () => Date, changes: EventEmitter) {
    this.path = path;
    this.#now = now;
    this.#changes = changes;
    this.#file = openSync(path, 'a', 0o640);
    this.#size = fstatSync(this.#file).size;
  }

  /** `changes` emits the path after each write. */
  static async open(path: string, now: () => Date, changes: EventEmitter): Promise<ContainerLog> {
    await mkdir(dirname(path), { recursive: true });
    return new ContainerLog(path, now, changes);
  }

  write(stream: LogStream, chunk: Uint8Array): void {
    this.#append(this.#cutters[stream].push(chunk, this.#now().toISOString()).map(formatRecord));
  }

  close(): void {
    if (this.#closed) {
      return;
    }
    const time = this.#now().toISOString();
    this.#append([...this.#cutters.stdout.end(time), ...this.#cutters.stderr.end(time)].map(formatRecord));
    this.#closed = true;
    closeSync(this.#file);
    this.#changes.emit(this.path);
  }

  #append(records: readonly Buffer[]): void {
    if (records.length === 0) {
      return;
    }
    const bytes = Buffer.concat(records);
    try {
      writeSync(this.#file, bytes);
    } catch (error) {
      throw withPath(this.path, error);
    }
    this.#size += bytes.length;
    if (this.#size > rotation.bytes) {
      this.#rotate();
    }
    this.#changes.emit(this.path);
  }

  #rotate(): void {
    closeSync(this.#file);
    for (let index = rotation.files - 1; index >= 1; index -= 1) {
      const from = index === 1 ? this.path : `${this.path}.${index - 1}`;
      if (index === rotation.files - 1) {
        rmSync(`${this.path}.${index}`, { force: true });
      }
      rotateFiles(from, `${this.path}.${index}`);
    }
    this.#file = openSync(this.path, 'a', 0o640);
    this.#size = 0;
  }
}

function rotateFiles(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw error;
    }
  }
}

/** Removes the logs of all runs before the previous one, as kubelet keeps one dead container. */
export async function removeOldLogs(path: string): Promise<void> {
  const directory = dirname(path);
  const current = Number.parseInt(basename(path), 10);
  for (const name of await readdir(directory)) {
    if (/^\d+\.log/.test(name) && Number.parseInt(name, 10) < current - 1) {
      await rm(join(directory, name));
    }
  }
}
