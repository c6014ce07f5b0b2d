import type { TaskQueue } from '../task/task-queue.ts';
import type { Action } from './action.ts';
import { stringArg } from './arguments.ts';

/**
 * `cancel_task [id]` -> `"canceled"`: sends SIGTERM to the scripts of the task. Only a task whose action is
 * `cancellable` can be cancelled.
 */
export function cancelTask(tasks: TaskQueue): Action {
  return {
    mode: 'synchronous',
    async run(list) {
      tasks.cancel(stringArg(list, 0, 'task id'));
      return 'canceled';
    },
  };
}
