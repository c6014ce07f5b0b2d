import { dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { VolumeMount } from '../options/parse-volume-mounts.ts';

/**
 * The directories from which root runs programs and reads their libraries and settings, also after the
 * volumes are bound.
 */
const systemPaths: readonly string[] = [
  ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/usr', '/etc'],
  dirname(process.execPath),
  join(import.meta.dirname, '..', '..'),
];

/**
 * Throws VOLUME_MOUNT_INVALID if a volume would cover the machine's programs: root starts the app in the
 * app's mount namespace, and would run programs of the share. An app with its own root does not cover them.
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
