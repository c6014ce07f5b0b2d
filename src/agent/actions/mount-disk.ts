import type { PersistentDisks } from '../disk/persistent-disks.ts';
import type { Action } from './action.ts';
import { stringArg } from './arguments.ts';

/**
 * `mount_disk [cid]` -> `{}`: mounts the disk on /var/vcap/store, or on store_migration_target if another
 * disk is mounted there.
 */
export function mountDisk(disks: PersistentDisks): Action {
  return {
    mode: 'asynchronous',
    async run(list) {
      await disks.mount(stringArg(list, 0, 'disk cid'));
      return {};
    },
  };
}
