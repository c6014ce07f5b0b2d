/** One line of mountinfo, as far as the agent needs it. */
export interface Mount {
  /** `major:minor` of the file system. */
  readonly device: string;
  /** The folder of that file system that is mounted. */
  readonly root: string;
  readonly mountPoint: string;
  /** Of this mount, whatever its file system is. */
  readonly isReadOnly: boolean;
}

/** The mounts of the agent's own mount namespace. */
export interface MountTable {
  list(): Promise<readonly Mount[]>;
  /** Mounts a folder on another, which is made where it is not there. */
  bind(source: string, target: string): Promise<void>;
  /** Unmounts, plainly: `busy` where something still uses it. */
  unmount(target: string): Promise<'unmounted' | 'busy'>;
  /** Forbids or allows writing through this mount alone; `busy` where a file is open for writing. */
  setReadOnly(target: string, isReadOnly: boolean): Promise<'done' | 'busy'>;
}

/** Reads /proc/self/mountinfo (proc_pid_mountinfo(5)), fields 3 to 6; blanks in paths are octal there. */
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

/** What is mounted at exactly this path, the topmost if several are. */
export function mountAt(mounts: readonly Mount[], path: string): Mount | undefined {
  return mounts.findLast((mount) => mount.mountPoint === path);
}

/** Which folder of which file system a path (without symbolic links) is: what a bind mount of it would show. */
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

/** True when both show the same folder of the same file system. */
export function isSameMountRoot(
  left: Pick<Mount, 'device' | 'root'> | undefined,
  right: Pick<Mount, 'device' | 'root'> | undefined,
): boolean {
  return left !== undefined && left.device === right?.device && left.root === right.root;
}

function unescape(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
