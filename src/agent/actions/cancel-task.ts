import type { TaskQueue } from '../task/task-queue.ts';
import type { Action } from './action.ts';
import { stringArg } from './arguments.ts';

/** `cancel_task [id]` -> `"canceled"`; scripts of the task get SIGTERM. Drain and compile_package can be cancelled. */
export function cancelTask(tasks: TaskQueue): Action {
  return {
    mode: 'synchronous',
    async run(list) {
      tasks.cancel(stringArg(list, 0, 'task id'));
      return 'canceled';
    },
  };
}
