import type { PersistentDisks } from '../disk/persistent-disks.ts';
import type { Action } from './action.ts';
import { stringArg } from './arguments.ts';

/** `remove_persistent_disk [cid]` -> `{}`: removes the record of a disk that is not mounted. */
export function removePersistentDisk(disks: PersistentDisks): Action {
  return {
    mode: 'asynchronous',
    async run(list) {
      await disks.remove(stringArg(list, 0, 'disk cid'));
      return {};
    },
  };
}
