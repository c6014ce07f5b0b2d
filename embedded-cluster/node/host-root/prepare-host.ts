import { mkdir, readFile, access, realpath } from 'node:fs/promises';
import { join, dirname } from 'node:path';
import type { NodeLayout } from '../node-paths.ts';
import { formatFstab, mount, type FstabEntry, flagsToPreserve, mountOf } from '../mounts.ts';
import { Field } from '../../../src/platform/field.ts';
import { mountsAtOrBelow, readMountTable } from '../../../src/platform/mountinfo.ts';
import { safeRemove } from '../../../src/platform/safe-remove.ts';
import type { RootDirectories } from '../runtime/container-fstab.ts';
import { isMapped, parseIdMap } from '../runtime/user-namespace.ts';
import {
  bindProc,
  bindReadOnly,
  bindRuntime,
  bindSys,
  maskedProcPaths,
  ipcSysctls,
  bindSystemDirectories,
} from './host-binds.ts';
import { ownLocale, deviceNames, writeHostRoot } from './write-host-root.ts';
import { writeFile } from '../../../src/platform/write-file.ts';

const vcap = 1000;

/**
 * Creates the image of container roots and the read-only bind mounts of the host's directories, once per run
 * of the node and only in its mount namespace. As root, this happens before the cluster enters its user
 * namespace, so that the kernel locks the bind mounts there: not even a pod with all rights of the node can
 * write to them.
 */
export async function prepareHost(layout: NodeLayout, runtimeDirectory: string): Promise<RootDirectories> {
  for (const directory of [layout.image, layout.host, layout.locale, layout.plans]) {
    await safeRemove(directory);
  }
  await mkdir(layout.plans, { recursive: true, mode: 0o700 });
  await mkdir(layout.root, { recursive: true });
  await writeHostRoot(layout.image, isMapped(parseIdMap(await readFile('/proc/self/uid_map', 'utf8')), vcap));
  const directories = await bindSystemDirectories(layout.image);
  const guardedProc = await maskedProcPaths();
  for (const path of [...directories, 'sys', 'proc']) {
    await mkdir(join(layout.host, path), { recursive: true });
    await mkdir(join(layout.image, path), { recursive: true });
  }
  const fstab = [
    ...(await bindReadOnly(layout.host, directories)),
    ...(await ownLocale(layout.host, layout.locale)),
    ...(await bindSys(layout.host)),
    ...(await bindProc(layout.host, guardedProc)),
    ...(await bindRuntime(layout.host, runtimeDirectory)),
  ];
  const fstabFile = join(layout.plans, 'host.fstab');
  await writeFile(fstabFile, formatFstab(fstab));
  await mount('-a', '-T', fstabFile);
  const prepared = {
    hostDirectories: [...directories, 'sys', 'opt/bosh-kubernetes'],
    devices: deviceNames,
    guardedProc,
    ipcSettings: await ipcSysctls(),
  };
  await writeFile(layout.hostDirectories, formatPreparedHost(prepared));
  await mkdir(layout.view, { recursive: true });
  await writeFile(layout.viewMounts, formatFstab(await viewMounts(layout, prepared)));
  return prepared;
}

/** Returns what `prepareHost` created in this run of the node; `undefined` if it was not called yet. */
export async function findPreparedHost(layout: NodeLayout): Promise<RootDirectories | undefined> {
  return mountsAtOrBelow(await readMountTable(), layout.host).length === 0
    ? undefined
    : parsePreparedHost(await readFile(layout.hostDirectories, 'utf8'));
}

/** Returns the content of host.json. */
export function formatPreparedHost({ hostDirectories, ...others }: RootDirectories): string {
  return JSON.stringify({ hostFolders: hostDirectories, ...others });
}

/** Parses the content of host.json. Throws CLUSTER_START, which names the key, if it has the wrong shape. */
export function parsePreparedHost(text: string): RootDirectories {
  const file = new Field(JSON.parse(text), 'host.json', 'CLUSTER_START');
  const strings = (key: string): readonly string[] => file.get(key).required().strings();
  return {
    hostDirectories: strings('hostFolders'),
    devices: strings('devices'),
    guardedProc: strings('guardedProc'),
    ipcSettings: strings('ipcSettings'),
  };
}

/** Returns the directory with the package.json of these sources, or of a bundle of them. */
async function packageRoot(directory: string): Promise<string> {
  for (let ancestor = directory; ancestor !== dirname(ancestor); ancestor = dirname(ancestor)) {
    if (
      await access(join(ancestor, 'package.json')).then(
        () => true,
        () => false,
      )
    ) {
      return ancestor;
    }
  }
  return directory;
}

/**
 * Returns the mounts of the root directory in which the node itself runs: the host's directories as its pods
 * have them, the node's own program, and the cluster's directory, at the same paths as on the machine. It
 * contains no other file.
 */
export async function viewMounts(layout: NodeLayout, directories: RootDirectories): Promise<FstabEntry[]> {
  const table = await readMountTable();
  const program = [
    dirname(await realpath(process.execPath)),
    await packageRoot(await realpath(import.meta.dirname)),
  ];
  const bind = (source: string, target: string, ...options: string[]): FstabEntry => ({
    source,
    target: `${layout.view}${target}`,
    type: 'none',
    options: ['rbind', ...options, 'X-mount.mkdir'],
  });
  return [
    ...directories.hostDirectories.map((path) => bind(`${layout.host}/${path}`, `/${path}`)),
    // The device file is read-only, not the device: otherwise root of a pod, which owns it by its id, could
    // change its mode.
    ...directories.devices.map((name) => ({
      source: `/dev/${name}`,
      target: `${layout.view}/dev/${name}`,
      type: 'none',
      options: ['bind', 'ro', ...flagsToPreserve(mountOf(table, `/dev/${name}`))],
    })),
    {
      source: 'proc',
      target: `${layout.view}/proc`,
      type: 'proc',
      options: ['nosuid', 'nodev', 'noexec'],
    },
    ...program
      .filter((path) => !path.startsWith('/usr/'))
      .map((path) => bind(path, path, 'ro', ...flagsToPreserve(mountOf(table, path)))),
    bind(layout.directory, layout.directory),
  ];
}
