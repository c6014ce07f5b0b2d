import {
  chmod,
  chown,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readlink,
  realpath,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { mount } from '../mounts/mount-command.ts';
import { flagsToKeep, mountOf, mountsAtOrBelow, readMountTable } from '../mounts/mount-table.ts';
import { formatFstab, type FstabEntry } from '../mounts/fstab.ts';
import { safeRemove } from '../removal/safe-remove.ts';
import type { NodeLayout } from '../layout.ts';
import type { RootFolders } from '../runtime/container-fstab.ts';
import { imageSkeleton } from './image-skeleton.ts';

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

const configurationFiles = [
  'etc/host.conf',
  'etc/ld.so.cache',
  'etc/ld.so.conf',
  'etc/localtime',
  'etc/login.defs',
  'etc/os-release',
  'etc/protocols',
  'etc/resolv.conf',
  'etc/services',
  'etc/ssl/openssl.cnf',
];

const deviceNames = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

const vcapId = 1000;

async function kindOf(path: string): Promise<'directory' | 'file' | 'symlink' | 'absent'> {
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

async function writeSkeleton(image: string): Promise<void> {
  for (const [path, mode] of imageSkeleton.directories) {
    await mkdir(join(image, path), { recursive: true });
    await chmod(join(image, path), mode);
  }
  for (const [path, content, mode] of imageSkeleton.files) {
    await writeFile(join(image, path), content, { mode });
    await chmod(join(image, path), mode);
  }
  for (const [path, target] of imageSkeleton.symlinks) {
    await symlink(target, join(image, path));
  }
  for (const name of deviceNames) {
    await writeFile(join(image, 'dev', name), '');
  }
}

async function copyConfiguration(image: string): Promise<void> {
  for (const path of configurationFiles) {
    const source = `/${path}`;
    if ((await kindOf(source)) !== 'absent' && (await exists(source))) {
      await mkdir(dirname(join(image, path)), { recursive: true });
      await copyFile(source, join(image, path));
      await chmod(join(image, path), 0o644);
    }
  }
}

/** False for a dangling symlink too. */
async function exists(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return false;
    }
    throw error;
  }
}

/** /bin and its like are symlinks on most machines: kept as they are. The others are bound. */
async function systemFolderBinds(image: string): Promise<string[]> {
  const bound = ['usr'];
  for (const name of systemFolders) {
    const kind = await kindOf(`/${name}`);
    if (kind === 'symlink') {
      await symlink(await readlink(`/${name}`), join(image, name));
    } else if (kind === 'directory') {
      bound.push(name);
    }
  }
  for (const path of configurationFolders) {
    if ((await kindOf(`/${path}`)) === 'directory') {
      bound.push(path);
    }
  }
  return bound;
}

async function makeMountPoints(directory: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(join(directory, path), { recursive: true });
  }
}

/** Binds with every mount below made read-only too, which `mount -o rbind,ro` does not do. */
async function bindReadOnly(host: string, folders: readonly string[]): Promise<FstabEntry[]> {
  const table = await readMountTable();
  return folders.flatMap((path) => {
    const below = mountsAtOrBelow(table, `/${path}`).filter((entry) => entry.target !== `/${path}`);
    const flags = flagsToKeep(mountOf(table, `/${path}`));
    const remounts = [...new Map(below.map((entry) => [entry.target, entry])).values()].map((entry) => ({
      source: `${host}${entry.target}`,
      target: `${host}${entry.target}`,
      type: 'none',
      options: ['bind', 'ro', ...flagsToKeep(entry)],
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
async function bindSys(host: string): Promise<FstabEntry[]> {
  const table = await readMountTable();
  const below = mountsAtOrBelow(table, '/sys').filter((entry) => entry.target !== '/sys');
  const outermost = below.filter(
    (entry) => !below.some((other) => other !== entry && entry.target.startsWith(`${other.target}/`)),
  );
  const flags = [...new Set([...flagsToKeep(mountOf(table, '/sys')), 'nosuid', 'nodev', 'noexec'])];
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
async function bindRuntime(host: string, runtimeDirectory: string): Promise<FstabEntry[]> {
  const target = join(host, 'opt/bosh-kubernetes');
  await mkdir(target, { recursive: true });
  const table = await readMountTable();
  const own = flagsToKeep(mountOf(table, target));
  const binds: FstabEntry[] = [
    { source: target, target, type: 'none', options: ['bind', 'ro', ...own, 'private'] },
  ];
  for (const name of await readdir(runtimeDirectory)) {
    const source = await realpath(join(runtimeDirectory, name));
    await writeFile(join(target, name), '');
    const flags = flagsToKeep(mountOf(table, source));
    binds.push({
      source,
      target: join(target, name),
      type: 'none',
      options: ['bind', 'ro', ...flags, 'private'],
    });
  }
  return binds;
}

/** Entries of /proc whose writing reaches the machine: every folder but those of processes, every writable file. */
async function guardedProcEntries(): Promise<string[]> {
  const names = (await readdir('/proc')).filter((name) => !/^\d+$/.test(name));
  const guarded: string[] = [];
  for (const name of names) {
    const status = await lstat(`/proc/${name}`);
    if (status.isDirectory() || (status.isFile() && (status.mode & 0o222) !== 0)) {
      guarded.push(name);
    }
  }
  return guarded.toSorted();
}

/**
 * Makes the skeleton of container roots and the read-only binds of the host's folders, once per life of the node
 * and only in its mount namespace. `mapsVcap`: whether uid 1000 exists in the node's user namespace.
 */
export async function buildHostRoot(
  layout: NodeLayout,
  options: { readonly runtimeDirectory: string; readonly mapsVcap: boolean },
): Promise<RootFolders> {
  await safeRemove(layout.image);
  await safeRemove(layout.host);
  await safeRemove(layout.plans);
  await mkdir(layout.plans, { recursive: true, mode: 0o700 });
  await mkdir(layout.root, { recursive: true });
  await writeSkeleton(layout.image);
  await copyConfiguration(layout.image);
  for (const script of ['container-init.sh', 'container-exec.sh', 'container-terminal.sh']) {
    const target = join(layout.image, 'etc/bosh-kubernetes', script);
    await copyFile(join(import.meta.dirname, '..', 'runtime', script), target);
    await chmod(target, 0o644);
  }
  if (options.mapsVcap) {
    await chown(join(layout.image, 'home/vcap'), vcapId, vcapId);
  }
  const folders = await systemFolderBinds(layout.image);
  await makeMountPoints(layout.host, [...folders, 'sys']);
  await makeMountPoints(layout.image, folders);
  const fstab = [
    ...(await bindReadOnly(layout.host, folders)),
    ...(await bindSys(layout.host)),
    ...(await bindRuntime(layout.host, options.runtimeDirectory)),
  ];
  const fstabFile = join(layout.plans, 'host.fstab');
  await writeFile(fstabFile, formatFstab(fstab));
  await mount('-a', '-T', fstabFile);
  return {
    hostFolders: [...folders, 'sys', 'opt/bosh-kubernetes'],
    devices: deviceNames,
    guardedProc: await guardedProcEntries(),
  };
}
