import { ProductError } from '../../errors/product-error.ts';

/** The part of a frame that comes next; `remaining`: the number of its bytes that are still to come. */
type FrameState =
  | {
      readonly kind: 'magic' | 'descriptor' | 'header' | 'block-header' | 'skippable-size';
      remaining: number;
    }
  /** Content of a block, of a skippable frame, or the checksum; `next` is the part after it. */
  | { readonly kind: 'content'; remaining: number; readonly next: FrameState };

const magic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;
const start = (): FrameState => ({ kind: 'magic', remaining: 4 });

/**
 * Reads a stream of zstd and splits it at the ends of frames (RFC 8878, 3.1). If a frame ends in the middle
 * of a chunk, Node.js' decompressor takes this for the end of the data. The decompressor checks whether a
 * frame is valid.
 */
export class ZstdFrames {
  #part: FrameState = start();
  /** The bytes of the current part that have arrived. */
  #bytes = Buffer.alloc(0);
  #hasFrame = false;
  #hasChecksum = false;
  readonly #label: string;

  /** `label` names the layer in error messages. */
  constructor(label: string) {
    this.#label = label;
  }

  /** Splits the chunk: each part ends where a frame ends, except perhaps the last one. */
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

  /** Must be called after the last byte. Throws ARCHIVE_INVALID if it is not the end of a frame. */
  end(): void {
    if (!this.#hasFrame || !this.#isBetween())
      throw this.#invalid(' is damaged or truncated: its zstd stream ends too early');
  }

  /** Returns the error for bytes that are not a frame. */
  trailingBytes(): ProductError {
    return this.#invalid(
      this.#hasFrame
        ? ': there is data after the end of the zstd stream; compress the tar again'
        : ' is damaged: it is no zstd',
    );
  }

  #invalid(problem: string): ProductError {
    return new ProductError('ARCHIVE_INVALID', `${this.#label}${problem}`);
  }

  #isBetween(): boolean {
    return this.#part.kind === 'magic' && this.#bytes.length === 0;
  }

  /** Consumes some of the bytes, at least one. Returns their number. */
  #consume(bytes: Uint8Array): number {
    const part = this.#part;
    const count = Math.min(part.remaining, bytes.length);
    part.remaining -= count;
    if (part.kind === 'content') {
      if (part.remaining === 0) this.#part = part.next;
      return count;
    }
    this.#bytes = Buffer.concat([this.#bytes, bytes.subarray(0, count)]);
    if (part.remaining > 0) return count;
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
        return { kind: 'header', remaining: headerLength(descriptor) };
      }
      case 'header':
        return { kind: 'block-header', remaining: 3 };
      case 'block-header':
        return this.#afterBlockHeader(read.readUIntLE(0, 3));
    }
  }

  #afterMagic(value: number): FrameState {
    if ((value & 0xfffffff0) >>> 0 === skippableMagic) return { kind: 'skippable-size', remaining: 4 };
    if (value === magic) {
      this.#hasFrame = true;
      return { kind: 'descriptor', remaining: 1 };
    }
    throw this.trailingBytes();
  }

  #afterBlockHeader(value: number): FrameState {
    const isRepeated = ((value >> 1) & 3) === 1;
    const isLast = (value & 1) === 1;
    const end = this.#hasChecksum ? content(4, start()) : start();
    return content(isRepeated ? 1 : value >> 3, isLast ? end : { kind: 'block-header', remaining: 3 });
  }
}

const content = (remaining: number, next: FrameState): FrameState =>
  remaining === 0 ? next : { kind: 'content', remaining, next };

/**
 * The window descriptor, the dictionary's id and the content's size. Each of them is optional, but there is a
 * window descriptor or a size.
 */
function headerLength(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const size = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  return (isSingleSegment ? 0 : 1) + dictionary + size;
}
