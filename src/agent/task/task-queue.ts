import { ProductError } from '../../errors/product-error.ts';
import { errorText } from '../file/error-code.ts';

export type TaskOutcome =
  | { readonly state: 'running' }
  | { readonly state: 'done'; readonly value: unknown }
  | { readonly state: 'failed'; readonly error: unknown };

/** One run of an asynchronous action. */
interface Task {
  readonly id: string;
  outcome: TaskOutcome;
  readonly finished: Promise<void>;
  readonly cancel: AbortController | undefined;
}

export interface TaskQueueOptions {
  readonly newId: () => string;
  /** How many finished tasks are remembered; running and waiting ones always are. */
  readonly remembered?: number;
}

/**
 * Runs tasks one at a time in the order they came (bosh-agent: agent/task/async_task_service.go).
 * Nothing of it survives the process: after a restart every id is unknown.
 */
export class TaskQueue {
  readonly #tasks = new Map<string, Task>();
  readonly #newId: () => string;
  readonly #remembered: number;
  #last: Promise<void> = Promise.resolve();

  constructor(options: TaskQueueOptions) {
    this.#newId = options.newId;
    this.#remembered = options.remembered ?? 100;
  }

  /** Queues `work` and answers its id. */
  add(work: (signal: AbortSignal) => Promise<unknown>, cancellable: boolean): string {
    const cancel = new AbortController();
    const task: Task = {
      id: this.#newId(),
      outcome: { state: 'running' },
      finished: this.#last.then(async () => {
        task.outcome = await outcomeOf(work, cancel.signal);
        this.#forgetOld();
      }),
      cancel: cancellable ? cancel : undefined,
    };
    this.#last = task.finished;
    this.#tasks.set(task.id, task);
    return task.id;
  }

  /** What became of a task; throws AGENT_TASK_UNKNOWN. */
  outcome(id: string): TaskOutcome {
    return this.#find(id).outcome;
  }

  /** Resolves when the task has ended; throws AGENT_TASK_UNKNOWN. */
  finished(id: string): Promise<void> {
    return this.#find(id).finished;
  }

  /** Asks a task to end; throws where its action cannot be cancelled. A finished task is left as it is. */
  cancel(id: string): void {
    const task = this.#find(id);
    if (task.cancel === undefined) {
      throw new ProductError('AGENT_NOT_SUPPORTED', `task ${id} cannot be cancelled; it goes on`);
    }
    task.cancel.abort();
  }

  /** Asks every task that can be cancelled to end. */
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

async function outcomeOf(
  work: (signal: AbortSignal) => Promise<unknown>,
  signal: AbortSignal,
): Promise<TaskOutcome> {
  try {
    if (signal.aborted) throw new Error('the task was cancelled before it began');
    return { state: 'done', value: await work(signal) };
  } catch (error) {
    return { state: 'failed', error: error instanceof Error ? error : new Error(errorText(error)) };
  }
}
