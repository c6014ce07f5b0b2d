import { blockSize, parseTarHeader, tarInvalid } from './tar-header.ts';
import type { TarHeader } from './tar-header.ts';

/** Receives the content of a file, after its last byte. */
export type TakeContent = (content: Buffer) => void;

/** Values for an entry from the headers before it. */
type PaxOverrides = Readonly<Record<string, string>>;

type State =
  | { readonly kind: 'header' }
  | { readonly kind: 'skip'; remaining: number }
  | { readonly kind: 'collect'; remaining: number; readonly parts: Buffer[]; readonly take: TakeContent }
  | { readonly kind: 'end' };

/** Names and sets of attributes are always shorter. */
const extensionLimit = 1024 * 1024;

/**
 * Reads a tar in chunks of any size and reports each entry after its header. The listener may return a
 * function, which then receives the entry's content; it must do so only for small files. Beside that content
 * it keeps at most a header's block and pax records in memory. Throws ARCHIVE_INVALID if the bytes are not a
 * tar, or if `end` is called before its end.
 */
export class TarReader {
  readonly #onEntry: (entry: TarHeader) => TakeContent | undefined;
  #state: State = { kind: 'header' };
  #block = Buffer.alloc(0);
  /** The extensions that apply to the next entry: its pax records, and GNU's long names. */
  #pax: PaxOverrides | undefined;
  #long: PaxOverrides = {};

  constructor(onEntry: (entry: TarHeader) => TakeContent | undefined) {
    this.#onEntry = onEntry;
  }

  write(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let at = 0; at < bytes.length;) at += this.#consume(bytes.subarray(at));
  }

  /** Must be called after the last byte. */
  end(): void {
    if (this.#state.kind === 'end') return;
    // The standard requires two blocks of zeros at the end; some programs write only one, after the last
    // entry.
    throw tarInvalid('the tar is truncated');
  }

  /** Consumes some of the bytes. Returns their number. */
  #consume(bytes: Buffer): number {
    const state = this.#state;
    switch (state.kind) {
      case 'header':
        return this.#takeHeader(bytes);
      case 'skip': {
        const count = Math.min(state.remaining, bytes.length);
        state.remaining -= count;
        if (state.remaining === 0) this.#state = { kind: 'header' };
        return count;
      }
      case 'collect': {
        const count = Math.min(state.remaining, bytes.length);
        state.parts.push(Buffer.from(bytes.subarray(0, count)));
        state.remaining -= count;
        if (state.remaining === 0) {
          this.#state = { kind: 'header' };
          state.take(Buffer.concat(state.parts));
        }
        return count;
      }
      case 'end':
        if (bytes.some((byte) => byte !== 0)) throw tarInvalid('there is data after the end of the tar');
        return bytes.length;
    }
  }

  #takeHeader(bytes: Buffer): number {
    const count = Math.min(blockSize - this.#block.length, bytes.length);
    this.#block = Buffer.concat([this.#block, bytes.subarray(0, count)]);
    if (this.#block.length < blockSize) return count;
    const block = this.#block;
    this.#block = Buffer.alloc(0);
    if (block.every((byte) => byte === 0)) this.#state = { kind: 'end' };
    else this.#startEntry(parseTarHeader(block));
    return count;
  }

  #startEntry(header: TarHeader): void {
    if ('xgLK'.includes(header.type)) {
      if (header.size > extensionLimit) throw tarInvalid('a header is longer than 1 MiB');
      this.#collect(header.size, (content) => this.#readExtension(header.type, content));
      return;
    }
    const entry = completed(header, this.#pax ?? {}, this.#long);
    this.#pax = undefined;
    this.#long = {};
    // Links and folders have no content, whatever their size field contains (POSIX; GNU tar and Go agree).
    const size = '07'.includes(entry.type) ? entry.size : 0;
    this.#state = size === 0 ? { kind: 'header' } : { kind: 'skip', remaining: padded(size) };
    const take = this.#onEntry(entry);
    if (take !== undefined) this.#collect(size, take);
  }

  /** Collects the content of the current entry and passes it on. */
  #collect(size: number, take: TakeContent): void {
    if (size === 0) take(Buffer.alloc(0));
    else
      this.#state = {
        ...{ kind: 'collect', remaining: padded(size), parts: [] },
        take: (content) => take(content.subarray(0, size)),
      };
  }

  #readExtension(type: string, bytes: Buffer): void {
    if (type === 'g') this.#checkGlobal(Object.keys(paxRecords(bytes)));
    else if (type === 'x') {
      // Go uses only the last one, and POSIX defines only one.
      if (this.#pax !== undefined) throw tarInvalid('an entry has two headers of pax records');
      this.#pax = paxRecords(bytes);
    } else
      this.#long = {
        ...this.#long,
        [type === 'L' ? 'path' : 'linkpath']: bytes.toString().replace(/\0.*$/s, ''),
      };
  }

  /**
   * Rejects dangerous global records. Go leaves them to its caller and forgets the headers before them; other
   * programs do neither.
   */
  #checkGlobal(keys: readonly string[]): void {
    const key = keys.find((name) => ['path', 'linkpath', 'size'].includes(name) || isSparse(name));
    if (key !== undefined) throw tarInvalid(`a global pax header has '${key}', which belongs to an entry`);
    if (this.#pax !== undefined || Object.keys(this.#long).length > 0)
      throw tarInvalid('a global pax header stands between an entry and its own headers');
  }
}

function completed(header: TarHeader, pax: PaxOverrides, long: PaxOverrides): TarHeader {
  if (Object.keys(pax).some(isSparse))
    throw tarInvalid(`'${header.name}' is a sparse file; make the tar without --sparse`);
  const twice = ['path', 'linkpath'].find((key) => pax[key] !== undefined && long[key] !== undefined);
  if (twice !== undefined)
    throw tarInvalid(
      `'${header.name}' has a ${twice} both as a GNU header and as a pax record, and programs differ in which of them they use`,
    );
  const given = { ...pax, ...long };
  const name = given['path'] ?? header.name;
  return {
    ...header,
    name,
    type: header.type === '\0' ? (name.endsWith('/') ? '5' : '0') : header.type,
    target: given['linkpath'] ?? header.target,
    size: sizeOf(given['size']) ?? header.size,
  };
}

const isSparse = (key: string): boolean => key.startsWith('GNU.sparse.');

function sizeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const size = /^\d+$/u.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(size)) throw tarInvalid('a header has a size that cannot be read');
  return size;
}

const padded = (size: number): number => Math.ceil(size / blockSize) * blockSize;

/** Parses records of the form "<length> <key>=<value>\n"; the length is that of the whole record. */
function paxRecords(bytes: Buffer): PaxOverrides {
  const records: [string, string][] = [];
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at);
    const digits = space === -1 ? '' : bytes.toString('latin1', at, space);
    const length = /^[1-9]\d{0,6}$/u.test(digits) ? Number(digits) : 0;
    const record = bytes.subarray(space + 1, at + length - 1);
    const equals = record.indexOf(0x3d);
    if (length === 0 || equals < 1 || at + length > bytes.length || bytes[at + length - 1] !== 0x0a)
      throw tarInvalid('the pax records of a header cannot be read');
    records.push([record.toString('utf8', 0, equals), record.toString('utf8', equals + 1)]);
    at += length;
  }
  return Object.fromEntries(records);
}
