/** One method of the bus. */
export interface Action {
  /** A synchronous action answers with its value, an asynchronous one with a task. */
  readonly mode: 'synchronous' | 'asynchronous';
  /** Whether cancel_task may end it; `signal` then aborts. */
  readonly cancellable?: boolean;
  /** `list` is the request's arguments, unchecked; what it throws is the caller's exception. */
  run(list: readonly unknown[], signal: AbortSignal): Promise<unknown>;
}
