/** Events between a writer that must not wait and a reader that takes its time. One reader. */
export class EventQueue<T> implements AsyncIterable<T> {
  readonly #events: T[] = [];
  #ended = false;
  #finishing = false;
  #wake: (() => void) | undefined;

  /** Events that wait to be read, and the one that is being read. */
  get length(): number {
    return this.#events.length;
  }

  get oldest(): T | undefined {
    return this.#events[0];
  }

  push(event: T): void {
    this.#events.push(event);
    this.#wake?.();
  }

  /** The iteration ends at once; what was not read is dropped. */
  abort(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** The iteration ends when what was pushed so far is read. */
  close(): void {
    this.#finishing = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    while (!this.#ended) {
      const event = this.#events[0];
      if (event !== undefined) {
        yield event;
        this.#events.shift();
      } else if (this.#finishing) return;
      else await this.#somethingHappens();
    }
  }

  async #somethingHappens(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }
}
