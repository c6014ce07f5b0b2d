import { posix } from 'node:path';
import { ProductError } from '../../../src/errors/product-error.ts';
import type { FstabEntry } from '../mounts.ts';
import type { ContainerMount } from './container-runtime.ts';

/**
 * Directories whose mounts keep a container away from the machine. A volume over one of them would make it
 * writable again.
 */
const readOnlyProcPaths = [
  '/proc',
  '/sys',
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/opt/bosh-kubernetes',
  '/etc/bosh-kubernetes',
];

function checkTarget(target: string): void {
  const plain =
    posix.isAbsolute(target) &&
    !target.endsWith('/') &&
    posix.normalize(target) === target &&
    !/[\n\t\0]/.test(target);
  const taken =
    target === '/' || readOnlyProcPaths.some((path) => target === path || target.startsWith(`${path}/`));
  if (!plain || taken) {
    throw new ProductError(
      'INVALID_ARGUMENT',
      `a volume cannot be mounted at ${JSON.stringify(target)} on the embedded node`,
    );
  }
}

/** Returns the mounts in batches that can be made together: no mount is inside another one of its batch. */
export function fstabEntries(mounts: readonly ContainerMount[]): ContainerMount[][] {
  const batches: ContainerMount[][] = [];
  for (const mount of mounts) {
    checkTarget(mount.target);
    if (mounts.some((other) => other !== mount && other.target === mount.target)) {
      throw new ProductError('INVALID_ARGUMENT', `two volumes are to be mounted at ${mount.target}`);
    }
    const depth = mounts.filter((other) => mount.target.startsWith(`${other.target}/`)).length;
    (batches[depth] ??= []).push(mount);
  }
  return batches.filter((batch) => batch !== undefined);
}

/** `flags`: the flags that a read-only remount must repeat (mount-table.ts, flagsToPreserve). */
export function bindOptions(mount: ContainerMount, flags: readonly string[]): string[] {
  const access = mount.readOnly ? ['ro', ...flags] : [];
  switch (mount.propagation) {
    case 'None':
      return ['rbind', ...access, 'rprivate'];
    case 'HostToContainer':
      return ['rbind', ...access, 'rslave'];
    case 'Bidirectional':
      return ['rbind', ...access];
  }
}

export interface RootDirectories {
  /**
   * Paths below `host` that are read-only already and are bound at the same path, for example `usr` and
   * `sys`.
   */
  readonly hostDirectories: readonly string[];
  readonly devices: readonly string[];
  /** Entries of /proc that a pod must not write to. */
  readonly guardedProc: readonly string[];
  /** Files of /proc/sys/kernel that a pod may write to: they belong to its IPC namespace. */
  readonly ipcSettings: readonly string[];
}

const procFlags = ['nosuid', 'nodev', 'noexec'];

/**
 * Returns the mounts of every container's root, without its volumes. /proc is mounted here and not in the
 * pod's user namespace, because only then its read-only parts are locked there (mount_namespaces(7)).
 */
export function rootMounts(
  root: string,
  host: string,
  directories: RootDirectories,
  options: { readonly nodePids: boolean; readonly terminalGroup: boolean },
): FstabEntry[] {
  const bind = (source: string, target: string, ...flags: string[]): FstabEntry => ({
    source,
    target: `${root}${target}`,
    type: 'none',
    options: ['rbind', ...flags],
  });
  const terminal = options.terminalGroup ? ['gid=5'] : [];
  return [
    ...directories.hostDirectories.map((path) => bind(`${host}/${path}`, `/${path}`, 'rprivate')),
    ...directories.devices.map((name) => bind(`/dev/${name}`, `/dev/${name}`, 'rprivate')),
    {
      source: 'devpts',
      target: `${root}/dev/pts`,
      type: 'devpts',
      options: ['newinstance', 'ptmxmode=0666', 'mode=0620', 'nosuid', 'noexec', ...terminal],
    },
    { source: 'shm', target: `${root}/dev/shm`, type: 'tmpfs', options: ['nosuid', 'nodev', 'mode=1777'] },
    ...(options.nodePids
      ? [bind(`${host}/proc`, '/proc', 'rprivate')]
      : [
          { source: 'proc', target: `${root}/proc`, type: 'proc', options: procFlags },
          // These are separate mounts, which stay writable when the mount that contains them is bound
          // read-only.
          ...directories.ipcSettings.map((name) =>
            bind(`${root}/proc/sys/kernel/${name}`, `/proc/sys/kernel/${name}`, 'rprivate'),
          ),
          ...directories.guardedProc.map((name) =>
            bind(`${root}/proc/${name}`, `/proc/${name}`, 'ro', ...procFlags),
          ),
        ]),
  ];
}
