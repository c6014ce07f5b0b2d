export type LogStream = 'stdout' | 'stderr';

export interface LogRecord {
  readonly time: string;
  readonly stream: LogStream;
  /** The line continues in the next record of the stream (tag P). */
  readonly partial: boolean;
  readonly content: Uint8Array;
}

/** containerd cuts lines here (containerd: internal/cri/io/logger.go). */
const longestLine = 16 * 1024;

const newline = 0x0a;

/** One record as it stands in the file, in the CRI's format: `<RFC 3339> <stream> <F|P> <content>`. */
export function formatRecord(record: LogRecord): Buffer {
  const head = `${record.time} ${record.stream} ${record.partial ? 'P' : 'F'} `;
  return Buffer.concat([Buffer.from(head), record.content, Buffer.of(newline)]);
}

/** Reads one line of a log file, without its newline; `undefined` where it was cut by a crash. */
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

/** Cuts one stream's output into records: whole lines, or pieces of lines that are too long. */
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
      const partial = end === -1 ? rest.length > longestLine : end > longestLine;
      if (end === -1 && !partial) {
        break;
      }
      const length = partial ? longestLine : end;
      records.push({ time, stream: this.#stream, partial, content: rest.subarray(0, length) });
      rest = rest.subarray(partial ? length : length + 1);
    }
    this.#rest = rest;
    return records;
  }

  /** What is left when the stream ends without a newline. */
  end(time: string): LogRecord[] {
    const content = this.#rest;
    this.#rest = Buffer.alloc(0);
    return content.length === 0 ? [] : [{ time, stream: this.#stream, partial: false, content }];
  }
}

/** What `kubectl logs` prints for a record. */
export function toOutput(record: LogRecord, options: { readonly timestamps: boolean }): Buffer {
  const head = options.timestamps ? `${record.time} ` : '';
  return Buffer.concat([
    Buffer.from(head),
    record.content,
    record.partial ? Buffer.alloc(0) : Buffer.of(newline),
  ]);
}
