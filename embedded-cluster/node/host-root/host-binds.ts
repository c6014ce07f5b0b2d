import { lstat, mkdir, readdir, readlink, realpath, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type FstabEntry, flagsToPreserve, mountOf } from '../mounts.ts';
import { mountsAtOrBelow, readMountTable } from '../../../src/platform/mountinfo.ts';
import { writeFile } from '../../../src/platform/write-file.ts';

const systemDirectories = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];

/**
 * Directories of /etc that programs below /usr need. Directories that also contain private keys are not bound
 * as a whole.
 */
const configurationDirectories = [
  'etc/alternatives',
  'etc/ca-certificates',
  'etc/crypto-policies',
  'etc/ld.so.conf.d',
  'etc/pki/ca-trust',
  'etc/pki/tls/certs',
  'etc/ssl/certs',
];

async function entryKind(path: string): Promise<'directory' | 'file' | 'symlink' | 'absent'> {
  try {
    const status = await lstat(path);
    return status.isSymbolicLink() ? 'symlink' : status.isDirectory() ? 'directory' : 'file';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return 'absent';
    }
    throw error;
  }
}

/**
 * Copies the symlinks of most machines, such as /bin, into the image. Returns the paths, relative to /, that
 * must be bound.
 */
export async function bindSystemDirectories(image: string): Promise<string[]> {
  const bound = ['usr'];
  for (const name of systemDirectories) {
    const kind = await entryKind(`/${name}`);
    if (kind === 'symlink') {
      await symlink(await readlink(`/${name}`), join(image, name));
    } else if (kind === 'directory') {
      bound.push(name);
    }
  }
  for (const path of configurationDirectories) {
    if ((await entryKind(`/${path}`)) === 'directory') {
      bound.push(path);
    }
  }
  return bound;
}

/**
 * Returns bind mounts that make every mount below them read-only, too. `mount -o rbind,ro` does not do that.
 */
export async function bindReadOnly(host: string, directories: readonly string[]): Promise<FstabEntry[]> {
  const table = await readMountTable();
  return directories.flatMap((path) => {
    const below = mountsAtOrBelow(table, `/${path}`).filter((entry) => entry.target !== `/${path}`);
    const flags = flagsToPreserve(mountOf(table, `/${path}`));
    const remounts = [...new Map(below.map((entry) => [entry.target, entry])).values()].map((entry) => ({
      source: `${host}${entry.target}`,
      target: `${host}${entry.target}`,
      type: 'none',
      options: ['bind', 'ro', ...flagsToPreserve(entry)],
    }));
    return [
      {
        source: `/${path}`,
        target: `${host}/${path}`,
        type: 'none',
        options: ['rbind', 'ro', ...flags, 'rprivate'],
      },
      ...remounts,
    ];
  });
}

/**
 * Returns the mounts of /sys. Everything that is mounted below /sys (cgroups, debugfs, firmware) is covered:
 * a root user without rights on the machine could still write there, because the file's owner is that same
 * root user.
 */
export async function bindSys(host: string): Promise<FstabEntry[]> {
  const table = await readMountTable();
  const below = mountsAtOrBelow(table, '/sys').filter((entry) => entry.target !== '/sys');
  const outermost = below.filter(
    (entry) => !below.some((other) => other !== entry && entry.target.startsWith(`${other.target}/`)),
  );
  const flags = [...new Set([...flagsToPreserve(mountOf(table, '/sys')), 'nosuid', 'nodev', 'noexec'])];
  return [
    { source: '/sys', target: `${host}/sys`, type: 'none', options: ['rbind', 'ro', ...flags, 'rprivate'] },
    ...[...new Set(outermost.map((entry) => entry.target))].map((target) => ({
      source: 'hidden',
      target: `${host}${target}`,
      type: 'tmpfs',
      options: ['ro', 'nosuid', 'nodev', 'noexec', 'size=4k', 'mode=0555'],
    })),
  ];
}

/**
 * Returns bind mounts of the files of the runtime directory, each through its real path, so that symlinks
 * into a package work.
 */
export async function bindRuntime(host: string, runtimeDirectory: string): Promise<FstabEntry[]> {
  const target = join(host, 'opt/bosh-kubernetes');
  await mkdir(target, { recursive: true });
  const table = await readMountTable();
  const own = flagsToPreserve(mountOf(table, target));
  const binds: FstabEntry[] = [
    { source: target, target, type: 'none', options: ['bind', 'ro', ...own, 'private'] },
  ];
  for (const name of await readdir(runtimeDirectory)) {
    const source = await realpath(join(runtimeDirectory, name));
    await writeFile(join(target, name), '');
    const flags = flagsToPreserve(mountOf(table, source));
    binds.push({
      source,
      target: join(target, name),
      type: 'none',
      options: ['bind', 'ro', ...flags, 'private'],
    });
  }
  return binds;
}

/**
 * Returns the entries of /proc that belong to the machine: every directory except those of processes, and
 * every file. The mode of a file is the same in every /proc of the machine, and root of a pod, which owns the
 * file by its id, could change it.
 */
export async function maskedProcPaths(): Promise<string[]> {
  const names = (await readdir('/proc')).filter((name) => !/^\d+$/.test(name));
  const guarded: string[] = [];
  for (const name of names) {
    const status = await lstat(`/proc/${name}`);
    if (status.isDirectory() || status.isFile()) {
      guarded.push(name);
    }
  }
  return guarded.toSorted();
}

/**
 * Returns the settings below /proc/sys that belong to the IPC namespace, so each pod has its own: databases
 * set them. The settings for checkpoints (sem_next_id) are left out.
 */
export async function ipcSysctls(): Promise<string[]> {
  const names = await readdir('/proc/sys/kernel');
  return names
    .filter((name) => /^(shm(all|max|mni|_rmid_forced)|msg(max|mnb|mni)|sem)$/.test(name))
    .toSorted();
}

/** Returns the mounts of the /proc of the node's own pid namespace, as pods with hostPID get it. */
export async function bindProc(host: string, guarded: readonly string[]): Promise<FstabEntry[]> {
  const flags = [
    ...new Set([...flagsToPreserve(mountOf(await readMountTable(), '/proc')), 'nosuid', 'nodev', 'noexec']),
  ];
  return [
    { source: '/proc', target: `${host}/proc`, type: 'none', options: ['rbind', 'rprivate'] },
    ...guarded.map((name) => ({
      source: `${host}/proc/${name}`,
      target: `${host}/proc/${name}`,
      type: 'none',
      options: ['rbind', 'ro', ...flags],
    })),
  ];
}
