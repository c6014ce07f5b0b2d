/** One line of mountinfo, as far as the agent needs it. */
export interface Mount {
  /** `major:minor` of the file system. */
  readonly device: string;
  /** The directory of that file system that is mounted. */
  readonly root: string;
  readonly mountPoint: string;
  /** True if this mount is read-only, whether or not its file system is. */
  readonly isReadOnly: boolean;
}

/** The mounts of the agent's own mount namespace. */
export interface MountTable {
  list(): Promise<readonly Mount[]>;
  /** Mounts a directory on another, which is created if it does not exist. */
  bind(source: string, target: string): Promise<void>;
  /** Unmounts without force or lazy unmount. Returns `busy` if the mount is in use. */
  unmount(target: string): Promise<'unmounted' | 'busy'>;
  /**
   * Makes this mount, and no other mount of the file system, read-only or writable. Returns `busy` if a file
   * is open for writing.
   */
  setReadOnly(target: string, isReadOnly: boolean): Promise<'done' | 'busy'>;
}

/**
 * Reads fields 3 to 6 of /proc/self/mountinfo (proc_pid_mountinfo(5)). Blanks in paths are octal escapes
 * there.
 */
export function parseMountinfo(text: string): readonly Mount[] {
  return text
    .split('\n')
    .map((line) => line.split(' '))
    .filter((fields) => fields.length >= 5)
    .map(([, , device = '', root = '', mountPoint = '', options = '']) => ({
      device,
      root: unescape(root),
      mountPoint: unescape(mountPoint),
      isReadOnly: options.split(',').includes('ro'),
    }));
}

/** Returns the mount at exactly this path, the topmost one if there are several. */
export function mountAt(mounts: readonly Mount[], path: string): Mount | undefined {
  return mounts.findLast((mount) => mount.mountPoint === path);
}

/**
 * Returns the file system and the directory of it that a path without symbolic links leads to. A bind mount
 * of the path has the same two values.
 */
export function locateOnFilesystem(
  mounts: readonly Mount[],
  path: string,
): Pick<Mount, 'device' | 'root'> | undefined {
  const covers = (mount: Mount): boolean =>
    mount.mountPoint === '/' || mount.mountPoint === path || path.startsWith(`${mount.mountPoint}/`);
  let best: Mount | undefined;
  for (const mount of mounts) {
    if (covers(mount) && mount.mountPoint.length >= (best?.mountPoint.length ?? 0)) best = mount;
  }
  if (best === undefined) return undefined;
  const below = path.slice(best.mountPoint === '/' ? 0 : best.mountPoint.length);
  const root = `${best.root === '/' ? '' : best.root}${below === '/' ? '' : below}`;
  return { device: best.device, root: root === '' ? '/' : root };
}

/** Returns true if both show the same directory of the same file system. */
export function isSameMountRoot(
  left: Pick<Mount, 'device' | 'root'> | undefined,
  right: Pick<Mount, 'device' | 'root'> | undefined,
): boolean {
  return left !== undefined && left.device === right?.device && left.root === right.root;
}

function unescape(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
