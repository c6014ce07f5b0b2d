import type { StoredObject } from './stored-object.ts';

/** The objects of one resource, sorted by their keys, so that a list costs as much as its result. */
export class SortedObjects {
  readonly #objects = new Map<string, StoredObject>();
  readonly #keys: string[] = [];

  get(key: string): StoredObject | undefined {
    return this.#objects.get(key);
  }

  set(key: string, object: StoredObject): void {
    if (!this.#objects.has(key)) this.#keys.splice(this.#position(key), 0, key);
    this.#objects.set(key, object);
  }

  delete(key: string): void {
    if (this.#objects.delete(key)) this.#keys.splice(this.#position(key), 1);
  }

  values(): Iterable<StoredObject> {
    return this.#objects.values();
  }

  /** Returns the objects whose keys start with `prefix`. */
  list(prefix: string): StoredObject[] {
    const found: StoredObject[] = [];
    for (let at = this.#position(prefix); at < this.#keys.length; at += 1) {
      const key = this.#keys[at] ?? '';
      if (!key.startsWith(prefix)) break;
      const object = this.#objects.get(key);
      if (object !== undefined) found.push(object);
    }
    return found;
  }

  /** Returns the position of the first key that is not less than `key`. */
  #position(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
