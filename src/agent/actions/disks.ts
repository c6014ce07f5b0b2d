import type { PersistentDisks } from '../disk/persistent-disks.ts';
import { type Action, argument } from './action.ts';

/** `add_persistent_disk [cid, hint]` -> `{}`: records where the CPI attached a disk. */
export function addPersistentDisk(disks: PersistentDisks): Action {
  return {
    mode: 'asynchronous',
    async run(args) {
      await disks.add(argument(args, 0, 'disk cid').nonEmptyString(), args[1]);
      return {};
    },
  };
}

/** `remove_persistent_disk [cid]` -> `{}`: removes the record of a disk that is not mounted. */
export function removePersistentDisk(disks: PersistentDisks): Action {
  return {
    mode: 'asynchronous',
    async run(args) {
      await disks.remove(argument(args, 0, 'disk cid').nonEmptyString());
      return {};
    },
  };
}

/**
 * `mount_disk [cid]` -> `{}`: mounts the disk on /var/vcap/store, or on store_migration_target if another
 * disk is mounted there.
 */
export function mountDisk(disks: PersistentDisks): Action {
  return {
    mode: 'asynchronous',
    async run(args) {
      await disks.mount(argument(args, 0, 'disk cid').nonEmptyString());
      return {};
    },
  };
}

/** `unmount_disk [cid]` -> `{message}`. If the disk is in use, the error names the processes. */
export function unmountDisk(disks: PersistentDisks): Action {
  return {
    mode: 'asynchronous',
    run: async (args) => ({ message: await disks.unmount(argument(args, 0, 'disk cid').nonEmptyString()) }),
  };
}

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

/** `list_disk []` -> the cids of the mounted disks. */
export function listDisk(disks: PersistentDisks): Action {
  return { mode: 'synchronous', run: () => disks.list() };
}
