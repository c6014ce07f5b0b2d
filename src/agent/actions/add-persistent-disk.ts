import type { PersistentDisks } from '../disk/persistent-disks.ts';
import type { Action } from './action.ts';
import { stringArg } from './arguments.ts';

/** `add_persistent_disk [cid, hint]` -> `{}`: records where the CPI attached a disk. */
export function addPersistentDisk(disks: PersistentDisks): Action {
  return {
    mode: 'asynchronous',
    async run(list) {
      await disks.add(stringArg(list, 0, 'disk cid'), list[1]);
      return {};
    },
  };
}
