import { dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { VolumeMount } from '../options/parse-volume-mounts.ts';

/** Where root takes programs, libraries and their settings from, also after the volumes are bound. */
const systemPaths: readonly string[] = [
  ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/usr', '/etc'],
  dirname(process.execPath),
  join(import.meta.dirname, '..', '..'),
];

/**
 * Refuses volumes over the machine's own programs: in an app's mount namespace root starts the app, and would
 * run what the share has in their place. An app with a root of its own does not cover them.
 * VOLUME_MOUNT_INVALID.
 */
export function assertNotOverSystemPaths(root: string, volumes: readonly VolumeMount[]): void {
  if (root !== '/') return;
  for (const { containerDir } of volumes) {
    const covered = systemPaths.find(
      (folder) => `${folder}/`.startsWith(`${containerDir}/`) || `${containerDir}/`.startsWith(`${folder}/`),
    );
    if (covered !== undefined)
      throw new ProductError(
        'VOLUME_MOUNT_INVALID',
        `a volume is for ${containerDir}, where programs of the machine are (${covered}): bind the app with another mount, or give it a folder of its own as --root`,
      );
  }
}
