import type { StoreEvent } from './stored-object.ts';

/** kube-apiserver --etcd-compaction-interval: clients have to expect that what is older is forgotten. */
const retentionMs = 300_000;
const maximumBytes = 64 * 1024 * 1024;

/** The last events of the store, so that a watch can go on where an earlier one ended: of five minutes and 64 MiB at most. */
export class EventHistory {
  readonly #capacity: number;
  readonly #now: () => number;
  readonly #events: StoreEvent[] = [];
  /** When each of the events was. */
  readonly #times: number[] = [];
  readonly #sizes: number[] = [];
  #bytes = 0;
  #floor: number;

  /** `floor`: nothing is known of what happened up to this revision. `now`: milliseconds. */
  constructor(floor: number, capacity: number, now: () => number) {
    this.#now = now;
    this.#floor = floor;
    this.#capacity = capacity;
  }

  /** `bytes`: how large the event is. */
  add(event: StoreEvent, bytes: number): void {
    this.#events.push(event);
    this.#times.push(this.#now());
    this.#sizes.push(bytes);
    this.#bytes += bytes;
    // cut in batches: shifting an array of thousands on each write costs more than the memory
    if (this.#events.length >= 2 * this.#capacity) this.#dropOldest(this.#capacity);
    if (this.#bytes > maximumBytes) this.#dropOldest(this.#countAbove(maximumBytes / 2));
  }

  /** How many of the oldest events are too many for `limit` bytes. */
  #countAbove(limit: number): number {
    let count = 0;
    for (let rest = this.#bytes; rest > limit; count += 1) rest -= this.#sizes[count] ?? rest;
    return count;
  }

  #dropOldest(count: number): void {
    this.#times.splice(0, count);
    for (const size of this.#sizes.splice(0, count)) this.#bytes -= size;
    const dropped = this.#events.splice(0, count);
    this.#floor = dropped.at(-1)?.revision ?? this.#floor;
  }

  #expireOld(): void {
    const oldest = this.#now() - retentionMs;
    const kept = this.#times.findIndex((time) => time > oldest);
    this.#dropOldest(kept < 0 ? this.#times.length : kept);
  }

  /** The events after `revision`, oldest first; undefined where that is too long ago. */
  since(revision: number): readonly StoreEvent[] | undefined {
    this.#expireOld();
    if (revision < this.#floor) return undefined;
    let start = this.#events.length;
    while (start > 0 && (this.#events[start - 1]?.revision ?? 0) > revision) start -= 1;
    return this.#events.slice(start);
  }
}
