import { ProductError } from '../../errors/product-error.ts';
import { isObject, type JsonObject } from '../../platform/json.ts';

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
  run(args: readonly unknown[], signal: AbortSignal): Promise<unknown>;
}

/**
 * Returns the non-empty string at a position of an argument list. Throws AGENT_ARGUMENT_INVALID if there is
 * none.
 */
export function stringArg(args: readonly unknown[], position: number, name: string): string {
  const value = args[position];
  if (typeof value === 'string' && value !== '') return value;
  throw invalid(position, name, 'a text');
}

/** Returns the object at a position of an argument list. Throws AGENT_ARGUMENT_INVALID if there is none. */
export function objectArg(args: readonly unknown[], position: number, name: string): JsonObject {
  const value = args[position];
  if (isObject(value)) return value;
  throw invalid(position, name, 'an object');
}

function invalid(position: number, name: string, shape: string): ProductError {
  return new ProductError('AGENT_ARGUMENT_INVALID', `argument ${position + 1} (${name}) is not ${shape}`);
}
