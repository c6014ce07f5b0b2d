import { join } from 'node:path';
import type { MountSpec } from '../../src/volumes/driver/mount/mount-command.ts';
import type { Mounter } from '../../src/volumes/driver/mount/mounter.ts';
import type { MounterSubject } from '../../src/volumes/driver/mount/testing/mounter-suite.ts';
import type { Guest } from './guest.ts';

/** The directory in which the guest mounts. */
export const volumes = '/mnt/volumes';
const deadline = 60_000;

/** Returns the ShareMounter of the guest. Its deadlines are a minute; signals are ignored. */
export function guestMounter(guest: Guest): Mounter {
  return {
    mount: (spec, target) => guest.call('mount', [spec, target, deadline]),
    unmount: (target) => guest.call('unmount', [target, deadline]),
    probe: (target, deadlineSeconds) => guest.call('probe', [target, deadlineSeconds]),
    listMounts: (directory) => guest.call('mounted', [directory]),
  };
}

/** Returns the subject for the suite of all Mounters. */
export function guestSubject(guest: Guest, spec: MountSpec, missing: MountSpec): MounterSubject {
  return {
    mounter: guestMounter(guest),
    directory: join(volumes, 'suite'),
    spec,
    missing,
    makeDirectory: (path) => guest.call('makeDirectory', [path]),
    write: (directory, name, text) => guest.call('asApp', [`echo -n ${text} > ${name}`, directory]),
    read: (directory, name) => guest.call('asApp', [`cat ${name}`, directory]),
    holdOpen: async (directory, name) => {
      const opened = await guest.call('holdOpen', [join(directory, name)]);
      return () => guest.call('close', [opened]);
    },
  };
}
