import { closeSync, constants, lstatSync, mkdirSync, openSync, type Stats } from 'node:fs';
import { join } from 'node:path';

export interface SubPath {
  readonly path: string;
  readonly kind: 'directory' | 'file';
}

function components(subPath: string): string[] {
  const parts = subPath.split('/');
  if (subPath.startsWith('/') || parts.some((part) => part === '..' || /[\n\t\0]/.test(part))) {
    throw new VolumeError(`subPath ${JSON.stringify(subPath)} must be a relative path without ".."`);
  }
  return parts.filter((part) => part !== '' && part !== '.');
}

function openat(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

const openDirectory = (path: string): number =>
  openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);

/**
 * Finds a volumeMount's subPath in a volume and creates missing directories (0755), as kubelet does. It goes
 * from descriptor to descriptor and rejects symlinks, so that a container cannot lead the node out of the
 * volume. The runtime checks the final mount again.
 */
export function resolveSubPath(volume: string, subPath: string): SubPath {
  const parts = components(subPath);
  let directory = openDirectory(volume);
  try {
    for (const [index, part] of parts.entries()) {
      const child = `/proc/self/fd/${directory}/${part}`;
      let status = openat(child);
      if (status === undefined) {
        mkdirSync(child, 0o755);
        status = lstatSync(child);
      }
      if (status.isFile() && index === parts.length - 1) {
        return { path: join(volume, ...parts), kind: 'file' };
      }
      if (!status.isDirectory()) {
        throw new VolumeError(`subPath ${subPath}: ${part} is neither a directory nor, at the end, a file`);
      }
      const next = openDirectory(child);
      closeSync(directory);
      directory = next;
    }
    return { path: join(volume, ...parts), kind: 'directory' };
  } finally {
    closeSync(directory);
  }
}

/** A volume that cannot be made ready now: kubelet's FailedMount, which is retried with back-off. */
export class VolumeError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'VolumeError';
  }
}
