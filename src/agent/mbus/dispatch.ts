import type { Action } from '../actions/action.ts';
import type { Clock } from '../../platform/clock.ts';
import { isProductError } from '../../errors/product-error.ts';
import { errorMessage } from '../file/error-code.ts';
import type { Log } from '../log.ts';
import { parseJsonObject } from '../../platform/json.ts';
import type { TaskQueue } from '../task/task-queue.ts';

export interface AgentRequest {
  readonly method: string;
  readonly arguments: readonly unknown[];
}

export type AgentResponse =
  | { readonly value: unknown }
  | { readonly exception: { readonly message: string } };

export interface DispatchOptions {
  readonly actions: ReadonlyMap<string, Action>;
  readonly tasks: TaskQueue;
  readonly clock: Clock;
  readonly log: Log;
}

// Wait briefly, so that short tasks are finished at the caller's first poll. The bosh CLI polls every second.
const inlineTaskMs = 30;

/** Reads a request's body. Returns undefined if it is not a JSON object with a method. */
export function parseRequest(body: string): AgentRequest | undefined {
  const value = parseJsonObject(body);
  if (typeof value?.['method'] !== 'string') return undefined;
  const args = value['arguments'] ?? [];
  return Array.isArray(args) ? { method: value['method'], arguments: args } : undefined;
}

/**
 * Runs one request. Returns a synchronous action's value, or the id of the task of an asynchronous action
 * (bosh-agent: agent/action_dispatcher.go). Returns an action's error as `exception`; never rejects.
 */
export async function dispatch(request: AgentRequest, options: DispatchOptions): Promise<AgentResponse> {
  const action = options.actions.get(request.method);
  if (action === undefined) {
    options.log.error(`mbus: unknown message ${JSON.stringify(request.method)}`);
    return { exception: { message: `unknown message ${request.method}` } };
  }
  if (action.mode === 'asynchronous') return startTask(action, request, options);
  try {
    return { value: (await action.run(request.arguments, new AbortController().signal, '')) ?? null };
  } catch (error) {
    logFailure(options.log, request.method, error);
    return { exception: { message: `Action Failed ${request.method}: ${errorMessage(error)}` } };
  }
}

async function startTask(
  action: Action,
  request: AgentRequest,
  options: DispatchOptions,
): Promise<AgentResponse> {
  const { tasks, clock, log } = options;
  const id = tasks.add(async (signal) => {
    const begin = clock.now();
    log.info(`task ${id}: ${request.method} begins`);
    try {
      const value = await action.run(request.arguments, signal, id);
      log.info(`task ${id}: ${request.method} done after ${clock.now() - begin} ms`);
      return value;
    } catch (error) {
      logFailure(log, `task ${id}: ${request.method}`, error);
      throw error;
    }
  }, action.cancellable ?? false);
  const answered = new AbortController();
  await Promise.race([tasks.finished(id), clock.sleep(inlineTaskMs, answered.signal)]);
  answered.abort();
  return { value: { agent_task_id: id, state: 'running' } };
}

function logFailure(log: Log, what: string, error: unknown): void {
  const code = isProductError(error) ? `${error.code}: ` : '';
  log.error(`${what} failed: ${code}${errorMessage(error)}`);
}
