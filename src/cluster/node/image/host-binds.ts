import { lstat, mkdir, readdir, readlink, realpath, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { FstabEntry } from '../mounts/fstab.ts';
import { mountsAtOrBelow, readMountTable } from '../../../platform/mountinfo.ts';
import { flagsToPreserve, mountOf } from '../mounts/mount-table.ts';
import { writeFile } from '../../../platform/write-file.ts';

const systemFolders = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];

/** Folders of /etc that programs below /usr rely on; those with private keys beside them are not bound whole. */
const configurationFolders = [
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
 * /bin and its like are symlinks on most machines: kept as they are in the image. Resolves with the paths, relative
 * to /, that are to be bound.
 */
export async function bindSystemDirectories(image: string): Promise<string[]> {
  const bound = ['usr'];
  for (const name of systemFolders) {
    const kind = await entryKind(`/${name}`);
    if (kind === 'symlink') {
      await symlink(await readlink(`/${name}`), join(image, name));
    } else if (kind === 'directory') {
      bound.push(name);
    }
  }
  for (const path of configurationFolders) {
    if ((await entryKind(`/${path}`)) === 'directory') {
      bound.push(path);
    }
  }
  return bound;
}

/** Binds with every mount below made read-only too, which `mount -o rbind,ro` does not do. */
export async function bindReadOnly(host: string, folders: readonly string[]): Promise<FstabEntry[]> {
  const table = await readMountTable();
  return folders.flatMap((path) => {
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

/** Whatever is mounted below /sys (cgroups, debugfs, firmware) is covered: a root without the machine's rights
 * could still write there, because the file's owner is that same root. */
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

/** The files of the runtime directory, each reached through its real path, so that symlinks into a package work. */
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
 * Entries of /proc that are the machine's: every folder but those of processes, and every file, because the mode of
 * one is the same in every /proc of the machine, and root of a pod, who owns it by its id, could change it.
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
 * Settings below /proc/sys that are those of the IPC namespace, so that a pod's are its own: databases set
 * them. Those for checkpoints (sem_next_id) are left out.
 */
export async function ipcSysctls(): Promise<string[]> {
  const names = await readdir('/proc/sys/kernel');
  return names
    .filter((name) => /^(shm(all|max|mni|_rmid_forced)|msg(max|mnb|mni)|sem)$/.test(name))
    .toSorted();
}

/** The /proc of the node's own pid namespace as pods with hostPID get it. */
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
