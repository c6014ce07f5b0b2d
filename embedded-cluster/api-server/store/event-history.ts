import type { StoreEvent } from './stored-object.ts';

/** kube-apiserver --etcd-compaction-interval: clients must expect that older versions are compacted. */
const retentionMs = 300_000;
const maximumBytes = 64 * 1024 * 1024;

/**
 * The last events of the store, for watches that continue an earlier one: at most five minutes and 64 MiB.
 */
export class EventHistory {
  readonly #capacity: number;
  readonly #now: () => number;
  readonly #events: StoreEvent[] = [];
  /** The time of each event. */
  readonly #times: number[] = [];
  readonly #sizes: number[] = [];
  #bytes = 0;
  #floor: number;

  /** `floor`: events up to this revision are not known. `now` returns milliseconds. */
  constructor(floor: number, capacity: number, now: () => number) {
    this.#now = now;
    this.#floor = floor;
    this.#capacity = capacity;
  }

  /** Adds an event. `bytes` is its size. */
  add(event: StoreEvent, bytes: number): void {
    this.#events.push(event);
    this.#times.push(this.#now());
    this.#sizes.push(bytes);
    this.#bytes += bytes;
    // Events are dropped in batches: shifting an array of thousands on each write costs more than the memory.
    if (this.#events.length >= 2 * this.#capacity) this.#dropOldest(this.#capacity);
    if (this.#bytes > maximumBytes) this.#dropOldest(this.#countAbove(maximumBytes / 2));
  }

  /** Returns the number of oldest events to drop, so that the rest fits in `limit` bytes. */
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

  /** Returns the events after `revision`, oldest first; undefined if that revision is too old. */
  since(revision: number): readonly StoreEvent[] | undefined {
    this.#expireOld();
    if (revision < this.#floor) return undefined;
    let start = this.#events.length;
    while (start > 0 && (this.#events[start - 1]?.revision ?? 0) > revision) start -= 1;
    return this.#events.slice(start);
  }
}
