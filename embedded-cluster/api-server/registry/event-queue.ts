/** A queue of events between a writer that must not wait and a slower reader. It has one reader. */
export class EventQueue<T> implements AsyncIterable<T> {
  readonly #events: T[] = [];
  #ended = false;
  #finishing = false;
  #wake: (() => void) | undefined;

  /** The number of events that wait to be read, with the one that is being read. */
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

  /** Ends the iteration at once; unread events are dropped. */
  abort(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** Ends the iteration after the events that were pushed so far. */
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
      else await this.#nextChange();
    }
  }

  async #nextChange(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }
}
