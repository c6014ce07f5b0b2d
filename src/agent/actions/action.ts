import { Field } from '../../platform/field.ts';

/** One method of the bus. */
export interface Action {
  /** A synchronous action responds with its value, an asynchronous one with a task. */
  readonly mode: 'synchronous' | 'asynchronous';
  /** True if cancel_task may end the action. `signal` then aborts. */
  readonly cancellable?: boolean;
  /**
   * Runs the method. `args` has the request's arguments, unchecked. An error becomes the exception of the
   * response. An asynchronous action gets the id of its task, a synchronous one an empty text.
   */
  run(args: readonly unknown[], signal: AbortSignal, taskId: string): Promise<unknown>;
}

/**
 * Returns an argument by its position; absent if the list is too short. Its errors are
 * AGENT_ARGUMENT_INVALID.
 */
export const argument = (args: readonly unknown[], position: number, name: string): Field =>
  new Field(args[position], `argument ${position + 1} (${name})`, 'AGENT_ARGUMENT_INVALID');
