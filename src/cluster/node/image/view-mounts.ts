import { access, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { NodeLayout } from '../layout.ts';
import type { FstabEntry } from '../mounts/fstab.ts';
import { readMountTable } from '../../../platform/mountinfo.ts';
import { flagsToPreserve, mountOf } from '../mounts/mount-table.ts';
import type { RootFolders } from '../runtime/container-fstab.ts';

/** The folder with the package.json that these sources, or a bundle of them, belong to. */
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
 * The mounts of the root in which the node itself lives: the host's folders as its pods have them, the program that
 * it is, and the cluster's directory, at the paths that they have on the machine. No device, no file of anyone else.
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
    // Read-only is the node, not the device: else root of a pod, who owns it by its id, could change its mode.
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
