import {
  closeSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { open, rm, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { insufficientStorage } from '../errors/status-errors.ts';
import { crc32 } from 'node:zlib';
import { ProductError } from '../../../src/errors/product-error.ts';

const syncDelay = 20;
const minCompactionBytes = 4 * 1024 * 1024;

/**
 * An append-only file of checksummed JSON lines (0600, because it contains Secrets).
 *
 * Durability: `append` returns after the write system call, so a kill -9 of the process loses no acknowledged
 * write. The data is synced to the disk within `syncDelay` milliseconds, so a power loss can lose the writes
 * of that last moment, and nothing before them. An incomplete last line is truncated on the next open.
 */
export class Journal {
  readonly #file: string;
  #descriptor: number;
  #size: number;
  #sizeAfterCompaction: number;
  #syncTimer: NodeJS.Timeout | undefined;
  #broken: Error | undefined;
  #compaction: { readonly tail: Buffer[]; readonly done: Promise<void> } | undefined;

  private constructor(file: string, descriptor: number, size: number) {
    this.#file = file;
    this.#descriptor = descriptor;
    this.#size = size;
    this.#sizeAfterCompaction = size;
  }

  /**
   * Opens or creates the file and returns its records. Throws ProductError CLUSTER_JOURNAL_CORRUPT if a
   * record before the last one is damaged.
   */
  static open(file: string): { readonly journal: Journal; readonly records: readonly unknown[] } {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const descriptor = openSync(file, 'a+', 0o600);
    const { records, length } = readLines(readFileSync(file), file);
    if (length < fstatSync(descriptor).size) ftruncateSync(descriptor, length);
    return { journal: new Journal(file, descriptor, length), records };
  }

  /** True if the file has grown to several times the size of a snapshot. */
  get wantsCompaction(): boolean {
    return (
      this.#compaction === undefined &&
      this.#size > Math.max(minCompactionBytes, 4 * this.#sizeAfterCompaction)
    );
  }

  /**
   * Writes one record and returns its length in bytes. Throws ApiError 507 if the disk is full, and any other
   * error of the file system. Nothing of the record is left in the file then.
   */
  append(record: unknown): number {
    if (this.#broken !== undefined) throw this.#broken;
    const line = encodeLine(record);
    try {
      writeWhole(this.#descriptor, line);
    } catch (error) {
      this.#truncateTornTail();
      throw isNoSpace(error) ? insufficientStorage(this.#file) : error;
    }
    this.#size += line.length;
    this.#compaction?.tail.push(line);
    this.#scheduleSync();
    return line.length;
  }

  /**
   * Replaces the content of the file by these records, which must be the current ones; records that are
   * appended during the compaction follow them. Works in the background; a crash leaves the old file or the
   * new one. Resolves when done, also if the disk has no room for a second copy: the journal then continues
   * with the old file, and `wantsCompaction` becomes true again after more growth.
   */
  compact(records: Iterable<unknown>): Promise<void> {
    const content = Buffer.concat(Array.from(records, encodeLine));
    const tail: Buffer[] = [];
    const done = this.#rewrite(content, tail).finally(() => {
      this.#compaction = undefined;
    });
    this.#compaction = { tail, done };
    return done;
  }

  /** Syncs everything to the disk and closes the file. */
  async close(): Promise<void> {
    this.#broken ??= new Error(`the journal ${this.#file} is closed`);
    await this.#compaction?.done;
    clearTimeout(this.#syncTimer);
    await new Promise<void>((resolve, reject) => {
      fdatasync(this.#descriptor, (error) => (error === null ? resolve() : reject(error)));
    });
    closeSync(this.#descriptor);
  }

  async #rewrite(content: Buffer, tail: Buffer[]): Promise<void> {
    const temporary = `${this.#file}.new`;
    try {
      await rm(temporary, { force: true });
      await using file = await open(temporary, 'wx', 0o600);
      await file.writeFile(content);
      await file.appendFile(Buffer.concat(tail.splice(0)));
      await file.sync();
      // Synchronous from here on, so that no append can fall between the two files.
      writeWhole(file.fd, Buffer.concat(tail));
      this.#switchTo(temporary, fstatSync(file.fd).size);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      this.#sizeAfterCompaction = this.#size;
      await unlink(temporary).catch((unlinkError: unknown) => {
        // The next compaction overwrites the rest of this one.
        if (!isSystemError(unlinkError)) throw unlinkError;
      });
    }
  }

  #switchTo(temporary: string, size: number): void {
    const replaced = this.#descriptor;
    renameSync(temporary, this.#file);
    this.#descriptor = openSync(this.#file, 'a');
    closeSync(replaced);
    this.#size = size;
    this.#sizeAfterCompaction = size;
    this.#scheduleSync();
  }

  /** Truncates a half-written line, which would make every later line unreadable. */
  #truncateTornTail(): void {
    try {
      ftruncateSync(this.#descriptor, this.#size);
    } catch (error) {
      this.#broken = new Error(`the journal ${this.#file} cannot be written any more`, { cause: error });
    }
  }

  #scheduleSync(): void {
    this.#syncTimer ??= setTimeout(() => this.#sync(), syncDelay);
    this.#syncTimer.unref();
  }

  #sync(): void {
    this.#syncTimer = undefined;
    const descriptor = this.#descriptor;
    fdatasync(descriptor, (error) => {
      // A file that a compaction has replaced in the meantime is no longer needed.
      if (error === null || descriptor !== this.#descriptor || this.#broken !== undefined) return;
      this.#broken = new Error(`the journal ${this.#file} cannot be brought to the disk`, { cause: error });
    });
  }
}

function writeWhole(descriptor: number, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(descriptor, bytes, written);
}

function isNoSpace(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}

/** Encodes one record as a line: eight hex digits of CRC-32, a blank, JSON. */
export function encodeLine(record: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(record));
  return Buffer.concat([Buffer.from(`${checksum(json)} `), json, newline]);
}

/**
 * Returns the records of a journal file and the length of its valid part. Anything after the last valid line
 * is a write that a crash interrupted. Throws ProductError CLUSTER_JOURNAL_CORRUPT if a valid line follows a
 * damaged one: that is not a torn write, and continuing would lose objects silently.
 */
export function readLines(content: Buffer, file: string): { records: unknown[]; length: number } {
  const records: unknown[] = [];
  let position = 0;
  while (position < content.length) {
    const end = content.indexOf(newline, position);
    const record = end === -1 ? undefined : decodeLine(content.subarray(position, end));
    if (record === undefined) break;
    records.push(record.value);
    position = end + 1;
  }
  if (position < content.length) assertTornTail(content, position, records.length, file);
  return { records, length: position };
}

const newline = Buffer.from('\n');
const checksum = (json: Uint8Array): string => crc32(json).toString(16).padStart(8, '0');

function decodeLine(line: Buffer): { value: unknown } | undefined {
  const json = line.subarray(9);
  if (line.subarray(0, 9).toString('latin1') !== `${checksum(json)} `) return undefined;
  return { value: JSON.parse(json.toString()) };
}

function assertTornTail(content: Buffer, position: number, good: number, file: string): void {
  let end = content.indexOf(newline, position);
  while (end !== -1) {
    const next = content.indexOf(newline, end + 1);
    if (next !== -1 && decodeLine(content.subarray(end + 1, next)) !== undefined) {
      throw new ProductError(
        'CLUSTER_JOURNAL_CORRUPT',
        `the cluster's journal ${file} is damaged in line ${good + 1} (its checksum does not match), with good lines after it; restore the file from a backup, or move it away to start with an empty cluster`,
      );
    }
    end = next;
  }
}
