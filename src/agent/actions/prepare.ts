import { installSpec } from '../apply/install-spec.ts';
import type { InstallOptions } from '../apply/install-spec.ts';
import { parseApplySpec } from '../spec/apply-spec.ts';
import type { Action } from './action.ts';
import { objectArgument } from './arguments.ts';

/** `prepare [spec]` -> `"prepared"`: installs the jobs and packages of a spec beside those in use. */
export function prepare(options: InstallOptions): Action {
  return {
    mode: 'asynchronous',
    async run(list) {
      await installSpec(parseApplySpec(objectArgument(list, 0, 'apply spec')), options);
      return 'prepared';
    },
  };
}
