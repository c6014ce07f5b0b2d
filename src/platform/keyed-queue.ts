/** Runs the work for one name in order, one at a time. Work for different names runs concurrently. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` after all earlier work for that name has ended. Resolves or rejects as `work` does. */
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
