import { EventHistory } from './event-history.ts';
import { Journal } from './journal.ts';
import { SortedObjects } from './sorted-objects.ts';
import { objectKey } from './stored-object.ts';
import type { StoredObject, StoreEvent } from './stored-object.ts';

type JournalRecord =
  | { readonly revision: number }
  | { readonly resource: string; readonly put: StoredObject }
  | { readonly resource: string; readonly removed: StoredObject };

interface ObjectStoreOptions {
  readonly file: string;
  /** The minimum number of events that a watch can start from, if they are no more than 32 MiB. */
  readonly historySize?: number;
  /** Returns milliseconds, for the age of changes. Absent: the system clock. */
  readonly now?: () => number;
}

/**
 * All objects in memory; every change is written to the journal first. One counter numbers all changes and
 * continues after a restart. All methods except closing are synchronous, so a read and the write that depends
 * on it cannot be interrupted. Returned objects are the stored ones: copy them before changing them.
 */
export class ObjectStore {
  readonly #journal: Journal;
  readonly #resources = new Map<string, SortedObjects>();
  readonly #history: EventHistory;
  readonly #listeners = new Set<(event: StoreEvent) => void>();
  #revision: number;
  #bytesWritten = 0;

  private constructor(
    journal: Journal,
    records: readonly unknown[],
    history: { readonly size: number; readonly now: () => number },
  ) {
    const header = records[0] as { revision: number } | undefined;
    this.#journal = journal;
    this.#revision = header?.revision ?? 0;
    this.#history = new EventHistory(this.#revision, history.size, history.now);
    for (const record of records.slice(1)) this.#replay(record as JournalRecord);
    if (header === undefined) journal.append({ revision: 0 });
  }

  /** Opens the store. Throws ProductError CLUSTER_JOURNAL_CORRUPT for a damaged journal. */
  static open({ file, historySize = 2000, now = Date.now }: ObjectStoreOptions): ObjectStore {
    const { journal, records } = Journal.open(file);
    return new ObjectStore(journal, records, { size: historySize, now });
  }

  get revision(): number {
    return this.#revision;
  }

  /** The bytes of all changes so far. A slow reader keeps the difference in memory. */
  get bytesWritten(): number {
    return this.#bytesWritten;
  }

  get(resource: string, namespace: string | undefined, name: string): StoredObject | undefined {
    return this.#resources.get(resource)?.get(objectKey(namespace, name));
  }

  /** Returns the objects, sorted by namespace and name. */
  list(resource: string, namespace?: string): StoredObject[] {
    return this.#resources.get(resource)?.list(namespace === undefined ? '' : `${namespace}/`) ?? [];
  }

  /**
   * Adds or replaces an object; returns it with its new resourceVersion. Throws if the journal cannot be
   * written.
   */
  put(resource: string, object: StoredObject): StoredObject {
    const stored = this.#withNewResourceVersion(object);
    const bytes = this.#journal.append({ resource, put: stored });
    this.#apply(resource, stored, { removed: false, bytes });
    this.#compactWhenLarge();
    return stored;
  }

  /** Removes an object; returns its last state, with the resourceVersion of the deletion. */
  remove(resource: string, object: StoredObject): StoredObject {
    const last = this.#withNewResourceVersion(object);
    const bytes = this.#journal.append({ resource, removed: last });
    this.#apply(resource, last, { removed: true, bytes });
    this.#compactWhenLarge();
    return last;
  }

  /** Returns the events after `revision`; undefined if that revision is too old. */
  since(revision: number): readonly StoreEvent[] | undefined {
    return this.#history.since(revision);
  }

  /**
   * Calls `listener` with each change, in order, before the write returns. Returns a function that ends the
   * subscription.
   */
  subscribe(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    return this.#journal.close();
  }

  #withNewResourceVersion(object: StoredObject): StoredObject {
    const resourceVersion = String(this.#revision + 1);
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  }

  #replay(record: JournalRecord): void {
    const bytes = JSON.stringify(record).length;
    if ('revision' in record) this.#revision = record.revision;
    else if ('put' in record) this.#apply(record.resource, record.put, { removed: false, bytes });
    else this.#apply(record.resource, record.removed, { removed: true, bytes });
  }

  #apply(
    resource: string,
    object: StoredObject,
    { removed, bytes }: { readonly removed: boolean; readonly bytes: number },
  ): void {
    const objects = this.#resources.get(resource) ?? new SortedObjects();
    this.#resources.set(resource, objects);
    const key = objectKey(object.metadata.namespace, object.metadata.name);
    const previous = objects.get(key);
    if (removed) objects.delete(key);
    else objects.set(key, object);
    this.#revision = Math.max(this.#revision, Number(object.metadata.resourceVersion));
    const type = removed ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED';
    const event = {
      type,
      revision: Number(object.metadata.resourceVersion),
      resource,
      object,
      previous,
    } as const;
    this.#bytesWritten += bytes;
    this.#history.add(event, bytes);
    for (const listener of this.#listeners) listener(event);
  }

  #compactWhenLarge(): void {
    if (this.#journal.wantsCompaction) void this.#journal.compact(this.#snapshot());
  }

  *#snapshot(): Generator<JournalRecord> {
    yield { revision: this.#revision };
    for (const [resource, objects] of this.#resources) {
      for (const put of objects.values()) yield { resource, put };
    }
  }
}
