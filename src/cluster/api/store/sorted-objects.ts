import type { StoredObject } from './stored-object.ts';

/** The objects of one resource by their keys, kept in the order of the keys: a list costs what it answers. */
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

  /** Those whose keys start so. */
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

  /** Where the first key is that is not less. */
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
