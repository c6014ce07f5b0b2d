import { access, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { NodeLayout } from '../layout.ts';
import type { FstabEntry } from '../mounts/fstab.ts';
import { readMountTable } from '../../../src/platform/mountinfo.ts';
import { flagsToPreserve, mountOf } from '../mounts/mount-table.ts';
import type { RootFolders } from '../runtime/container-fstab.ts';

/** Returns the directory with the package.json of these sources, or of a bundle of them. */
async function packageRoot(directory: string): Promise<string> {
  for (let folder = directory; folder !== dirname(folder); folder = dirname(folder)) {
    if (
      await access(join(folder, 'package.json')).then(
        () => true,
        () => false,
      )
    ) {
      return folder;
    }
  }
  return directory;
}

/**
 * Returns the mounts of the root directory in which the node itself runs: the host's directories as its pods
 * have them, the node's own program, and the cluster's directory, at the same paths as on the machine. It
 * contains no other file.
 */
export async function viewMounts(layout: NodeLayout, folders: RootFolders): Promise<FstabEntry[]> {
  const table = await readMountTable();
  const program = [
    dirname(await realpath(process.execPath)),
    await packageRoot(await realpath(import.meta.dirname)),
  ];
  const bind = (source: string, target: string, ...options: string[]): FstabEntry => ({
    source,
    target: `${layout.view}${target}`,
    type: 'none',
    options: ['rbind', ...options, 'X-mount.mkdir'],
  });
  return [
    ...folders.hostFolders.map((path) => bind(`${layout.host}/${path}`, `/${path}`)),
    // The device file is read-only, not the device: otherwise root of a pod, which owns it by its id, could
    // change its mode.
    ...folders.devices.map((name) => ({
      source: `/dev/${name}`,
      target: `${layout.view}/dev/${name}`,
      type: 'none',
      options: ['bind', 'ro', ...flagsToPreserve(mountOf(table, `/dev/${name}`))],
    })),
    {
      source: 'proc',
      target: `${layout.view}/proc`,
      type: 'proc',
      options: ['nosuid', 'nodev', 'noexec'],
    },
    ...program
      .filter((path) => !path.startsWith('/usr/'))
      .map((path) => bind(path, path, 'ro', ...flagsToPreserve(mountOf(table, path)))),
    bind(layout.directory, layout.directory),
  ];
}
