import type { PersistentDisks } from '../disk/persistent-disks.ts';
import type { Action } from './action.ts';

/** `list_disk []` -> the cids of the mounted disks. */
export function listDisk(disks: PersistentDisks): Action {
  return { mode: 'synchronous', run: () => disks.list() };
}
