import type { PersistentDisks } from '../disk/persistent-disks.ts';
import type { Action } from './action.ts';

/** `migrate_disk []` -> `{}`: what is on /var/vcap/store is copied to the disk beside it, which takes its place. */
export function migrateDisk(disks: PersistentDisks): Action {
  return {
    mode: 'asynchronous',
    async run() {
      await disks.migrate();
      return {};
    },
  };
}
