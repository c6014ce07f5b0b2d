import type { Clock } from '../../platform/clock.ts';
import { errorMessage } from '../file/error-code.ts';
import type { TaskOutcome, TaskQueue } from '../task/task-queue.ts';
import { type Action, argument } from './action.ts';

// Long poll: get_task waits this long for the task, so that the caller learns of its end at once.
const longPollMs = 200;

/** `get_task [id]` -> the running task, its value, or its exception. */
export function getTask(tasks: TaskQueue, clock: Clock): Action {
  return {
    mode: 'synchronous',
    async run(args) {
      const id = argument(args, 0, 'task id').nonEmptyString();
      const answered = new AbortController();
      await Promise.race([tasks.finished(id), clock.sleep(longPollMs, answered.signal)]);
      answered.abort();
      return toResponse(id, tasks.outcome(id));
    },
  };
}

function toResponse(id: string, outcome: TaskOutcome): unknown {
  switch (outcome.state) {
    case 'running':
      return { agent_task_id: id, state: 'running' };
    case 'done':
      return outcome.value;
    case 'failed':
      throw new Error(`Task ${id} result: ${errorMessage(outcome.error)}`, { cause: outcome.error });
    default:
      return outcome satisfies never;
  }
}

/**
 * `cancel_task [id]` -> `"canceled"`: sends SIGTERM to the scripts of the task. Only a task whose action is
 * `cancellable` can be cancelled.
 */
export function cancelTask(tasks: TaskQueue): Action {
  return {
    mode: 'synchronous',
    async run(args) {
      tasks.cancel(argument(args, 0, 'task id').nonEmptyString());
      return 'canceled';
    },
  };
}
