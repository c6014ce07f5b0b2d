import { posix } from 'node:path';
import { ProductError } from '../../../errors/product-error.ts';
import type { FstabEntry } from '../mounts/fstab.ts';
import type { ContainerMount } from './container-runtime.ts';

/** Folders whose mounts keep a container from the machine; a volume on top would open them again. */
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

/** Mounts that may be made together: none lies inside another of its batch. */
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

/** `flags`: what a read-only remount has to repeat (mount-table.ts, flagsToPreserve). */
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

export interface RootFolders {
  /** Paths below `host` that are bound at the same path, read-only already, for example `usr` and `sys`. */
  readonly hostFolders: readonly string[];
  readonly devices: readonly string[];
  /** Entries of /proc that a pod must not write. */
  readonly guardedProc: readonly string[];
  /** Files of /proc/sys/kernel that a pod may write: they are its IPC namespace's. */
  readonly ipcSettings: readonly string[];
}

const procFlags = ['nosuid', 'nodev', 'noexec'];

/**
 * The mounts of every container's root, apart from its volumes. /proc is mounted here and not in the pod's user
 * namespace, because only then the read-only parts of it are locked there (mount_namespaces(7)).
 */
export function rootMounts(
  root: string,
  host: string,
  folders: RootFolders,
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
    ...folders.hostFolders.map((path) => bind(`${host}/${path}`, `/${path}`, 'rprivate')),
    ...folders.devices.map((name) => bind(`/dev/${name}`, `/dev/${name}`, 'rprivate')),
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
          // mounts of their own, which stay writable when the mount that they lie in is bound read-only
          ...folders.ipcSettings.map((name) =>
            bind(`${root}/proc/sys/kernel/${name}`, `/proc/sys/kernel/${name}`, 'rprivate'),
          ),
          ...folders.guardedProc.map((name) =>
            bind(`${root}/proc/${name}`, `/proc/${name}`, 'ro', ...procFlags),
          ),
        ]),
  ];
}
