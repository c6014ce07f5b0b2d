import type { PlannedCall } from './plan.ts';

/** The values from which the arguments of a planned call are made. */
export interface CallSubjects {
  readonly vmCid: string;
  readonly diskCid: string;
  /** The arguments of create_vm for that VM. */
  readonly vmArguments: readonly unknown[];
  /** The size of each disk, and the storage class that update_disk moves it to. */
  readonly diskSizeMiB: number;
  readonly storageClass: string;
}

/** Returns the arguments of a planned call. */
export function argumentsOf({ verb, vm }: PlannedCall, subjects: CallSubjects): readonly unknown[] {
  const { vmCid, diskCid } = subjects;
  switch (verb) {
    case 'create_vm':
      return subjects.vmArguments;
    case 'attach_disk':
    case 'detach_disk':
      return [vmCid, diskCid];
    case 'delete_disk':
      return [diskCid];
    case 'update_disk':
      return [diskCid, subjects.diskSizeMiB, { storage_class: subjects.storageClass }];
    case 'set_vm_metadata':
      return [vmCid, { director: 'd', deployment: 'dep', job: 'group', index: String(vm) }];
    case 'delete_vm':
    case 'has_vm':
    case 'reboot_vm':
      return [vmCid];
    default:
      return verb satisfies never;
  }
}
