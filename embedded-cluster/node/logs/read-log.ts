import { once, type EventEmitter } from 'node:events';
import { open, type FileHandle } from 'node:fs/promises';
import { parseRecord, toOutput, type LogRecord } from './cri-log.ts';

export interface ReadOptions {
  readonly timestamps: boolean;
  readonly tailLines?: number | undefined;
  readonly sinceTime?: Date | undefined;
  readonly limitBytes?: number | undefined;
}

export interface FollowOptions {
  /** Emits the path of a log after a write or when it is closed. */
  readonly changes: EventEmitter;
  /** True while the container that writes the log runs. */
  readonly writing: () => boolean;
  readonly signal: AbortSignal;
}

/**
 * Reads records from an open log file, up to the last whole line, and continues at the position where it
 * stopped.
 */
class RecordReader {
  readonly #file: FileHandle;
  #rest: Buffer = Buffer.alloc(0);

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async read(): Promise<LogRecord[]> {
    const records: LogRecord[] = [];
    for (;;) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, null);
      if (bytesRead === 0) {
        return records;
      }
      const lines = splitLines(Buffer.concat([this.#rest, buffer.subarray(0, bytesRead)]));
      this.#rest = lines.rest;
      records.push(...lines.whole.map(parseRecord).filter((record) => record !== undefined));
    }
  }
}

function splitLines(bytes: Buffer): { whole: Buffer[]; rest: Buffer } {
  const whole: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, start)) {
    whole.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return { whole, rest: bytes.subarray(start) };
}

/** Returns the last `count` lines. A line consists of its records up to the one that ends it. */
function tail(records: readonly LogRecord[], count: number): LogRecord[] {
  let lines = 0;
  let start = records.length;
  while (start > 0) {
    const ends = records[start - 1]?.partial === false;
    if (ends && lines === count) {
      break;
    }
    lines += ends ? 1 : 0;
    start -= 1;
  }
  return count === 0 ? [] : records.slice(start);
}

function* limitBytes(
  records: readonly LogRecord[],
  options: ReadOptions,
  budget: { remaining: number },
): Iterable<Buffer> {
  const since = options.sinceTime?.getTime() ?? Number.NEGATIVE_INFINITY;
  for (const record of records) {
    if (budget.remaining <= 0) {
      return;
    }
    if (Date.parse(record.time) >= since) {
      const bytes = toOutput(record, options).subarray(0, budget.remaining);
      budget.remaining -= bytes.length;
      yield bytes;
    }
  }
}

/**
 * Reads the part of one log file that `kubectl logs` requests, up to its present end or, with `follow`, until
 * the container has ended or the signal aborts. Rejects with ENOENT if the file does not exist.
 */
export async function* readLog(
  path: string,
  options: ReadOptions,
  follow?: FollowOptions,
): AsyncIterable<Uint8Array> {
  const budget = { remaining: options.limitBytes ?? Number.POSITIVE_INFINITY };
  let file = await open(path);
  try {
    let reader = new RecordReader(file);
    const first = await reader.read();
    yield* limitBytes(
      options.tailLines === undefined ? first : tail(first, options.tailLines),
      options,
      budget,
    );
    if (follow === undefined) {
      return;
    }
    while (!follow.signal.aborted && budget.remaining > 0) {
      const writing = follow.writing();
      const change = writing ? waitForChange(path, follow) : undefined;
      const more = await reader.read();
      yield* limitBytes(more, options, budget);
      const successor = more.length === 0 ? await rotatedFile(file, path) : undefined;
      if (successor !== undefined) {
        await file.close();
        file = successor;
        reader = new RecordReader(file);
      } else if (more.length === 0 && !writing) {
        return;
      } else if (more.length === 0) {
        await change;
      }
    }
  } finally {
    await file.close();
  }
}

/** Returns the file that has replaced this one at the path, if there is one. */
async function rotatedFile(file: FileHandle, path: string): Promise<FileHandle | undefined> {
  const current = await open(path);
  const [before, now] = await Promise.all([file.stat(), current.stat()]);
  if (before.ino === now.ino) {
    await current.close();
    return undefined;
  }
  return current;
}

async function waitForChange(path: string, follow: FollowOptions): Promise<void> {
  try {
    await once(follow.changes, path, { signal: follow.signal });
  } catch (error) {
    if (!follow.signal.aborted) {
      throw error;
    }
  }
}
