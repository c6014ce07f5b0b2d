/** Bytes that one side hands over as they come and the other takes when it likes. Both limits are in bytes. */
export interface ByteQueueOptions {
  /** Called when more than `high` are waiting (false) and when fewer than `low` are again (true). */
  readonly onFlow: (wanted: boolean) => void;
  readonly high: number;
  readonly low: number;
}

type End = { readonly error?: unknown };

/** A queue of chunks with an end, for one reader. */
export class ByteQueue {
  readonly #options: ByteQueueOptions;
  readonly #chunks: Uint8Array[] = [];
  #waiting = 0;
  #stopped = false;
  #end: End | undefined;
  #wake: () => void = () => {};

  constructor(options: ByteQueueOptions) {
    this.#options = options;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#waiting += chunk.length;
    if (!this.#stopped && this.#waiting > this.#options.high) {
      this.#stopped = true;
      this.#options.onFlow(false);
    }
    this.#wake();
  }

  /** The first end counts. What came before it is still read. */
  end(end: End = {}): void {
    this.#end ??= end;
    this.#wake();
  }

  /** The next chunk; undefined at the end. Rejects where the end was an error. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) return this.#taken(chunk);
      if (this.#end !== undefined) {
        if ('error' in this.#end) throw this.#end.error;
        return undefined;
      }
      const woken = Promise.withResolvers<void>();
      this.#wake = woken.resolve;
      await woken.promise;
    }
  }

  #taken(chunk: Uint8Array): Uint8Array {
    this.#waiting -= chunk.length;
    if (this.#stopped && this.#waiting < this.#options.low) {
      this.#stopped = false;
      this.#options.onFlow(true);
    }
    return chunk;
  }
}
