import {
  closeSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { encodeLine, readLines } from './journal-lines.ts';
import { replaceFile } from './replace-file.ts';

/**
 * An append-only file of checksummed JSON lines (0600: it holds Secrets).
 *
 * What a crash costs: `append` returns after the write system call, so a kill -9 of the process costs nothing that
 * was answered. The disk follows within `syncDelay`: a power loss can cost the writes of that last moment, and
 * nothing before them. A line that was being written is cut off on the next open.
 */
export class Journal {
  readonly #file: string;
  #descriptor: number;
  #size: number;
  #sizeAfterCompaction: number;
  #syncTimer: NodeJS.Timeout | undefined;
  #broken: Error | undefined;

  private constructor(file: string, descriptor: number, size: number) {
    this.#file = file;
    this.#descriptor = descriptor;
    this.#size = size;
    this.#sizeAfterCompaction = size;
  }

  /**
   * Opens or makes the file and answers the records in it.
   * Throws ProductError CLUSTER_JOURNAL_CORRUPT where a record before the last one is damaged.
   */
  static open(file: string): { readonly journal: Journal; readonly records: readonly unknown[] } {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const descriptor = openSync(file, 'a+', 0o600);
    const { records, length } = readLines(readFileSync(file), file);
    if (length < fstatSync(descriptor).size) ftruncateSync(descriptor, length);
    return { journal: new Journal(file, descriptor, length), records };
  }

  /** Bytes in the file, to decide when to compact. */
  get size(): number {
    return this.#size;
  }

  /** True when the file has grown to several times what a snapshot would take. */
  get wantsCompaction(): boolean {
    return this.#size > Math.max(compactionFloor, 4 * this.#sizeAfterCompaction);
  }

  /** Writes one record. Throws (ENOSPC, EIO) with nothing of the record left in the file. */
  append(record: unknown): void {
    if (this.#broken !== undefined) throw this.#broken;
    const line = encodeLine(record);
    try {
      writeWhole(this.#descriptor, line);
    } catch (error) {
      this.#cutBack();
      throw error;
    }
    this.#size += line.length;
    this.#syncTimer ??= setTimeout(() => this.#sync(), syncDelay);
    this.#syncTimer.unref();
  }

  /**
   * Replaces the file by these records, atomically: a crash leaves the old file or the new one.
   * Throws what the file system says (ENOSPC); the journal then goes on with the old file and asks again later.
   */
  compact(records: Iterable<unknown>): void {
    this.#sizeAfterCompaction = this.#size;
    const content = Buffer.concat(Array.from(records, encodeLine));
    replaceFile(this.#file, content);
    const replaced = this.#descriptor;
    this.#descriptor = openSync(this.#file, 'a', 0o600);
    closeSync(replaced);
    this.#size = content.length;
    this.#sizeAfterCompaction = content.length;
  }

  /** Brings everything to the disk and closes the file. */
  async close(): Promise<void> {
    clearTimeout(this.#syncTimer);
    this.#broken ??= new Error(`the journal ${this.#file} is closed`);
    await new Promise<void>((resolve, reject) => {
      fdatasync(this.#descriptor, (error) => (error === null ? resolve() : reject(error)));
    });
    closeSync(this.#descriptor);
  }

  /** A half-written line in the middle would make every later one unreadable. */
  #cutBack(): void {
    try {
      ftruncateSync(this.#descriptor, this.#size);
    } catch (error) {
      this.#broken = new Error(`the journal ${this.#file} cannot be written any more`, { cause: error });
    }
  }

  #sync(): void {
    this.#syncTimer = undefined;
    const descriptor = this.#descriptor;
    fdatasync(descriptor, (error) => {
      // a compaction or close in between synced the content itself and closed this descriptor
      if (error === null || descriptor !== this.#descriptor || error.code === 'EBADF') return;
      this.#broken = new Error(`the journal ${this.#file} cannot be brought to the disk`, { cause: error });
    });
  }
}

const syncDelay = 20;
const compactionFloor = 4 * 1024 * 1024;

function writeWhole(descriptor: number, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(descriptor, bytes, written);
}
