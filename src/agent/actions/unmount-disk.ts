import type { PersistentDisks } from '../disk/persistent-disks.ts';
import type { Action } from './action.ts';
import { stringArg } from './arguments.ts';

/** `unmount_disk [cid]` -> `{message}`. If the disk is in use, the error names the processes. */
export function unmountDisk(disks: PersistentDisks): Action {
  return {
    mode: 'asynchronous',
    run: async (list) => ({ message: await disks.unmount(stringArg(list, 0, 'disk cid')) }),
  };
}
