import type { PersistentDisks } from '../disk/persistent-disks.ts';
import type { Action } from './action.ts';

/**
 * `migrate_disk []` -> `{}`: copies the content of /var/vcap/store to the disk on store_migration_target, and
 * mounts that disk on /var/vcap/store instead.
 */
export function migrateDisk(disks: PersistentDisks): Action {
  return {
    mode: 'asynchronous',
    async run() {
      await disks.migrate();
      return {};
    },
  };
}
