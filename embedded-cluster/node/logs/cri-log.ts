export type LogStream = 'stdout' | 'stderr';

export interface LogRecord {
  readonly time: string;
  readonly stream: LogStream;
  /** The line continues in the next record of the stream (tag P). */
  readonly partial: boolean;
  readonly content: Uint8Array;
}

/** containerd cuts lines here (containerd: internal/cri/io/logger.go). */
const maxLineLength = 16 * 1024;

const newline = 0x0a;

/** Returns one record as a line of the log file, in the CRI format: `<RFC 3339> <stream> <F|P> <content>`. */
export function formatRecord(record: LogRecord): Buffer {
  const head = `${record.time} ${record.stream} ${record.partial ? 'P' : 'F'} `;
  return Buffer.concat([Buffer.from(head), record.content, Buffer.of(newline)]);
}

/** Parses one line of a log file, without its newline. Returns `undefined` if a crash truncated the line. */
export function parseRecord(line: Uint8Array): LogRecord | undefined {
  const buffer = Buffer.from(line.buffer, line.byteOffset, line.byteLength);
  const match = /^(\S+) (stdout|stderr) ([FP]) /.exec(buffer.subarray(0, 64).toString('latin1'));
  const [head, time, stream, tag] = match ?? [];
  if (head === undefined || time === undefined) {
    return undefined;
  }
  return {
    time,
    stream: stream === 'stderr' ? 'stderr' : 'stdout',
    partial: tag === 'P',
    content: buffer.subarray(head.length),
  };
}

/** Splits the output of one stream into records: whole lines, or parts of lines that are too long. */
export class LineSplitter {
  readonly #stream: LogStream;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: LogStream) {
    this.#stream = stream;
  }

  push(chunk: Uint8Array, time: string): LogRecord[] {
    let rest = Buffer.concat([this.#rest, chunk]);
    const records: LogRecord[] = [];
    for (;;) {
      const end = rest.indexOf(newline);
      const partial = end === -1 ? rest.length > maxLineLength : end > maxLineLength;
      if (end === -1 && !partial) {
        break;
      }
      const length = partial ? maxLineLength : end;
      records.push({ time, stream: this.#stream, partial, content: rest.subarray(0, length) });
      rest = rest.subarray(partial ? length : length + 1);
    }
    this.#rest = rest;
    return records;
  }

  /** Returns the rest of the output if the stream ends without a newline. */
  end(time: string): LogRecord[] {
    const content = this.#rest;
    this.#rest = Buffer.alloc(0);
    return content.length === 0 ? [] : [{ time, stream: this.#stream, partial: false, content }];
  }
}

/** Returns the output of `kubectl logs` for a record. */
export function toOutput(record: LogRecord, options: { readonly timestamps: boolean }): Buffer {
  const head = options.timestamps ? `${record.time} ` : '';
  return Buffer.concat([
    Buffer.from(head),
    record.content,
    record.partial ? Buffer.alloc(0) : Buffer.of(newline),
  ]);
}
