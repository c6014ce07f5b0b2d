/** Runs what is asked of one name one after the other, and of different names at once. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Resolves or rejects as `work` does, when all that was asked of that name before has ended. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const done = before.then(work, work);
    this.#last.set(name, done);
    try {
      return await done;
    } finally {
      if (this.#last.get(name) === done) this.#last.delete(name);
    }
  }
}
