import { dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { parentMount, type MountEntry } from '../../platform/mountinfo.ts';
import type { HiddenDirectories } from './namespace-init/plan.ts';
import type { VolumeMount } from '../options/volume-mount.ts';

/** The types of file systems that volume drivers mount. */
const shareTypes = /^(?:nfs4?|cifs|smb3|fuse(?:\..*)?)$/u;

/**
 * Returns the directories that must be hidden from the app, because drivers mount there. `kept` are paths
 * that the app needs. Throws CONTAINER_FAILED if one of these is in a directory of the app's own driver.
 */
export function planHidden(
  mounts: readonly MountEntry[],
  machine: {
    readonly at: string;
    readonly mountDirectories: readonly string[];
    readonly sources: readonly string[];
    readonly kept: readonly string[];
  },
): HiddenDirectories {
  const { at, mountDirectories, sources, kept } = machine;
  const keeps = (directory: string): string | undefined => kept.find((path) => liesIn(path, directory));
  const own = sources.map((source) => dirname(source));
  for (const directory of own) {
    const path = keeps(directory);
    if (path !== undefined)
      throw new ProductError(
        'CONTAINER_FAILED',
        `the volume driver mounts in '${directory}', which is hidden from the app, but the app needs '${path}' in it: give the driver a folder of its own (-mountDir)`,
      );
  }
  const others = mounts
    .filter(
      ({ target, type }) => shareTypes.test(type) && mountDirectories.some((each) => liesIn(target, each)),
    )
    .map(({ target }) => (keeps(dirname(target)) === undefined ? dirname(target) : target))
    .filter((directory) => keeps(directory) === undefined && !own.some((each) => liesIn(directory, each)));
  const directories = [...new Set([...own, ...others])];
  const parentMounts = [
    ...[...directories, ...mountDirectories].map(
      (directory) => parentMount(mounts, directory)?.target ?? '/',
    ),
    // a driver whose directory is itself a mount may have no volume yet
    ...mounts.filter((mount) => mayHoldVolumes(mount, mountDirectories)).map(({ target }) => target),
  ];
  return { at, folders: directories, parentMounts: [...new Set(parentMounts)] };
}

const mayHoldVolumes = (
  { target, type, isShared }: MountEntry,
  mountDirectories: readonly string[],
): boolean => isShared && !shareTypes.test(type) && mountDirectories.some((each) => liesIn(target, each));

const liesIn = (path: string, directory: string): boolean => `${path}/`.startsWith(`${directory}/`);

/**
 * The directories from which root runs programs and reads their libraries and settings, also after the
 * volumes are bound.
 */
const systemPaths: readonly string[] = [
  ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/usr', '/etc'],
  dirname(process.execPath),
  join(import.meta.dirname, '..', '..', '..', 'dist'),
];

/**
 * Throws VOLUME_MOUNT_INVALID if a volume would cover the machine's programs: root starts the app in the
 * app's mount namespace, and would run programs of the share. An app with its own root does not cover them.
 */
export function assertNotOverSystemPaths(root: string, volumes: readonly VolumeMount[]): void {
  if (root !== '/') return;
  for (const { containerDir } of volumes) {
    const covered = systemPaths.find(
      (directory) =>
        `${directory}/`.startsWith(`${containerDir}/`) || `${containerDir}/`.startsWith(`${directory}/`),
    );
    if (covered !== undefined)
      throw new ProductError(
        'VOLUME_MOUNT_INVALID',
        `a volume at ${containerDir} would cover programs of the machine (${covered}): bind the app with another mount, or give the app a folder of its own as --root`,
      );
  }
}
