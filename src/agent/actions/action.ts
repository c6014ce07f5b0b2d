/** One method of the bus. */
export interface Action {
  /** A synchronous action responds with its value, an asynchronous one with a task. */
  readonly mode: 'synchronous' | 'asynchronous';
  /** True if cancel_task may end the action. `signal` then aborts. */
  readonly cancellable?: boolean;
  /**
   * Runs the method. `list` has the request's arguments, unchecked. An error becomes the exception of the
   * response.
   */
  run(list: readonly unknown[], signal: AbortSignal): Promise<unknown>;
}
