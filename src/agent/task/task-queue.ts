import { ProductError } from '../../errors/product-error.ts';
import { errorMessage } from '../file/error-code.ts';

export type TaskOutcome =
  | { readonly state: 'running' }
  | { readonly state: 'done'; readonly value: unknown }
  | { readonly state: 'failed'; readonly error: unknown };

/** One execution of an asynchronous action. */
interface Task {
  readonly id: string;
  outcome: TaskOutcome;
  readonly finished: Promise<void>;
  readonly cancel: AbortController | undefined;
}

export interface TaskQueueOptions {
  readonly newId: () => string;
  /** How many finished tasks are remembered. Running and queued ones always are. */
  readonly remembered?: number;
  /** The values of tasks that ended in an earlier process, by id. */
  readonly done?: ReadonlyMap<string, unknown>;
}

/**
 * Runs tasks one at a time, in order (bosh-agent: agent/task/async_task_service.go). Tasks do not survive the
 * process: after a restart only the ids in the option `done` are known.
 */
export class TaskQueue {
  readonly #tasks = new Map<string, Task>();
  readonly #newId: () => string;
  readonly #remembered: number;
  #last: Promise<void> = Promise.resolve();

  constructor(options: TaskQueueOptions) {
    this.#newId = options.newId;
    this.#remembered = options.remembered ?? 100;
    for (const [id, value] of options.done ?? []) {
      const outcome: TaskOutcome = { state: 'done', value };
      this.#tasks.set(id, { id, outcome, finished: Promise.resolve(), cancel: undefined });
    }
  }

  /** Queues `work` and returns the id of its task. */
  add(work: (signal: AbortSignal) => Promise<unknown>, cancellable: boolean): string {
    const cancel = new AbortController();
    const task: Task = {
      id: this.#newId(),
      outcome: { state: 'running' },
      finished: this.#last.then(async () => {
        task.outcome = await runToOutcome(work, cancel.signal);
        this.#forgetOld();
      }),
      cancel: cancellable ? cancel : undefined,
    };
    this.#last = task.finished;
    this.#tasks.set(task.id, task);
    return task.id;
  }

  /** Returns the outcome of a task. Throws AGENT_TASK_UNKNOWN. */
  outcome(id: string): TaskOutcome {
    return this.#find(id).outcome;
  }

  /** Resolves when the task has ended. Throws AGENT_TASK_UNKNOWN. */
  finished(id: string): Promise<void> {
    return this.#find(id).finished;
  }

  /**
   * Aborts a task. Throws AGENT_NOT_SUPPORTED if its action cannot be cancelled. Has no effect on a finished
   * task.
   */
  cancel(id: string): void {
    const task = this.#find(id);
    if (task.cancel === undefined) {
      throw new ProductError('AGENT_NOT_SUPPORTED', `task ${id} cannot be cancelled; it continues`);
    }
    task.cancel.abort();
  }

  /** Aborts every task that can be cancelled. */
  cancelAll(): void {
    for (const task of this.#tasks.values()) task.cancel?.abort();
  }

  #find(id: string): Task {
    const task = this.#tasks.get(id);
    if (task !== undefined) return task;
    throw new ProductError(
      'AGENT_TASK_UNKNOWN',
      `Task with id ${id} could not be found: the agent was restarted since, or the task ended long ago`,
    );
  }

  #forgetOld(): void {
    const finished = [...this.#tasks.values()].filter((task) => task.outcome.state !== 'running');
    for (const task of finished.slice(0, Math.max(0, finished.length - this.#remembered))) {
      this.#tasks.delete(task.id);
    }
  }
}

async function runToOutcome(
  work: (signal: AbortSignal) => Promise<unknown>,
  signal: AbortSignal,
): Promise<TaskOutcome> {
  try {
    if (signal.aborted) throw new Error('the task was cancelled before it began');
    return { state: 'done', value: await work(signal) };
  } catch (error) {
    return { state: 'failed', error: error instanceof Error ? error : new Error(errorMessage(error)) };
  }
}
