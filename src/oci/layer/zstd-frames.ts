import { ProductError } from '../../errors/product-error.ts';

/** What comes next of a frame; `left`: bytes of it that are still to come. */
type FrameState =
  | { readonly kind: 'magic' | 'descriptor' | 'header' | 'block-header' | 'skippable-size'; left: number }
  /** Content of a block, of a frame to skip, or the checksum; `next` comes behind it. */
  | { readonly kind: 'content'; left: number; readonly next: FrameState };

const magic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;
const start = (): FrameState => ({ kind: 'magic', left: 4 });

/**
 * Follows zstd that passes by and cuts it where a frame ends (RFC 8878, 3.1). Node's decompressor takes the
 * end of a frame in the middle of a chunk for the end of everything. Whether a frame is right is the decompressor's to say.
 */
export class ZstdFrames {
  #part: FrameState = start();
  /** Of the part that is to be read: the bytes that have come. */
  #bytes = Buffer.alloc(0);
  #hasFrame = false;
  #hasChecksum = false;
  readonly #what: string;

  /** `what`: for error messages. */
  constructor(what: string) {
    this.#what = what;
  }

  /** The chunk in pieces of which each ends where a frame does, the last one perhaps before. */
  *split(chunk: Uint8Array): Generator<Uint8Array> {
    let from = 0;
    for (let at = 0; at < chunk.length;) {
      at += this.#consume(chunk.subarray(at));
      if (!this.#isBetween()) continue;
      yield chunk.subarray(from, at);
      from = at;
    }
    if (from < chunk.length) yield chunk.subarray(from);
  }

  /** To be called after the last byte. ARCHIVE_INVALID where that is not the end of a frame. */
  end(): void {
    if (!this.#hasFrame || !this.#isBetween())
      throw this.#invalid(' is damaged or cut off: its zstd ends too early');
  }

  /** The error for what is no frame. */
  trailingBytes(): ProductError {
    return this.#invalid(
      this.#hasFrame
        ? ': there is something behind the end of the zstd: pack the tar anew'
        : ' is damaged: it is no zstd',
    );
  }

  #invalid(problem: string): ProductError {
    return new ProductError('ARCHIVE_INVALID', `${this.#what}${problem}`);
  }

  #isBetween(): boolean {
    return this.#part.kind === 'magic' && this.#bytes.length === 0;
  }

  /** Uses some of the bytes, at least one; answers how many. */
  #consume(bytes: Uint8Array): number {
    const part = this.#part;
    const count = Math.min(part.left, bytes.length);
    part.left -= count;
    if (part.kind === 'content') {
      if (part.left === 0) this.#part = part.next;
      return count;
    }
    this.#bytes = Buffer.concat([this.#bytes, bytes.subarray(0, count)]);
    if (part.left > 0) return count;
    const read = this.#bytes;
    this.#bytes = Buffer.alloc(0);
    this.#part = this.#after(part.kind, read);
    return count;
  }

  #after(kind: Exclude<FrameState['kind'], 'content'>, read: Buffer): FrameState {
    switch (kind) {
      case 'magic':
        return this.#afterMagic(read.readUInt32LE());
      case 'skippable-size':
        return content(read.readUInt32LE(), start());
      case 'descriptor': {
        const [descriptor = 0] = read;
        this.#hasChecksum = (descriptor & 4) !== 0;
        return { kind: 'header', left: headerLength(descriptor) };
      }
      case 'header':
        return { kind: 'block-header', left: 3 };
      case 'block-header':
        return this.#afterBlockHeader(read.readUIntLE(0, 3));
    }
  }

  #afterMagic(value: number): FrameState {
    if ((value & 0xfffffff0) >>> 0 === skippableMagic) return { kind: 'skippable-size', left: 4 };
    if (value === magic) {
      this.#hasFrame = true;
      return { kind: 'descriptor', left: 1 };
    }
    throw this.trailingBytes();
  }

  #afterBlockHeader(value: number): FrameState {
    const isRepeated = ((value >> 1) & 3) === 1;
    const isLast = (value & 1) === 1;
    const end = this.#hasChecksum ? content(4, start()) : start();
    return content(isRepeated ? 1 : value >> 3, isLast ? end : { kind: 'block-header', left: 3 });
  }
}

const content = (left: number, next: FrameState): FrameState =>
  left === 0 ? next : { kind: 'content', left, next };

/** Window descriptor, dictionary's number and the content's size, each of which may be left out; one of the outer two is there. */
function headerLength(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const size = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  return (isSingleSegment ? 0 : 1) + dictionary + size;
}
