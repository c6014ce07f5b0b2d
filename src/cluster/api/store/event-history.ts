import type { StoreEvent } from './stored-object.ts';

/** The last events of the store, so that a watch can go on where an earlier one ended. */
export class EventHistory {
  readonly #capacity: number;
  readonly #events: StoreEvent[] = [];
  #floor: number;

  /** `floor`: nothing is known of what happened up to this revision. */
  constructor(floor: number, capacity: number) {
    this.#floor = floor;
    this.#capacity = capacity;
  }

  add(event: StoreEvent): void {
    this.#events.push(event);
    // cut in batches: shifting an array of thousands on each write costs more than the memory
    if (this.#events.length < 2 * this.#capacity) return;
    const dropped = this.#events.splice(0, this.#capacity);
    this.#floor = dropped.at(-1)?.revision ?? this.#floor;
  }

  /** The events after `revision`, oldest first; undefined where that is too long ago. */
  since(revision: number): readonly StoreEvent[] | undefined {
    if (revision < this.#floor) return undefined;
    let start = this.#events.length;
    while (start > 0 && (this.#events[start - 1]?.revision ?? 0) > revision) start -= 1;
    return this.#events.slice(start);
  }
}
