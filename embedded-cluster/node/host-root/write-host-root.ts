import { chmod, chown, copyFile, mkdir, stat, symlink, cp, lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { scriptPath } from '../runtime/container-setup.ts';
import { hostRootFiles } from './host-root-files.ts';
import { writeFile } from '../../../src/platform/write-file.ts';
import { runCommand } from '../command.ts';
import { type FstabEntry, flagsToPreserve, mountOf } from '../mounts.ts';
import { readMountTable } from '../../../src/platform/mountinfo.ts';

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

export const deviceNames = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

const vcapId = 1000;

const scripts = ['container-init.sh', 'container-exec.sh', 'container-terminal.sh'];

async function writeSkeleton(image: string): Promise<void> {
  for (const [path, mode] of hostRootFiles.directories) {
    await mkdir(join(image, path), { recursive: true });
    await chmod(join(image, path), mode);
  }
  for (const [path, content, mode] of hostRootFiles.files) {
    await writeFile(join(image, path), content, { mode });
    await chmod(join(image, path), mode);
  }
  for (const [path, target] of hostRootFiles.symlinks) {
    await symlink(target, join(image, path));
  }
  for (const name of deviceNames) {
    await writeFile(join(image, 'dev', name), '');
  }
}

async function copyConfiguration(image: string): Promise<void> {
  for (const path of configurationFiles) {
    const source = `/${path}`;
    if (await exists(source)) {
      await mkdir(dirname(join(image, path)), { recursive: true });
      await copyFile(source, join(image, path));
      await chmod(join(image, path), 0o644);
    }
  }
}

/** Returns false for a dangling symlink, too. */
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

async function copyScripts(image: string): Promise<void> {
  for (const script of scripts) {
    const target = join(image, 'etc/bosh-kubernetes', script);
    await copyFile(scriptPath(script), target);
    await chmod(target, 0o644);
  }
}

/** Writes the initial content of every container's root. `mapsVcap`: uid 1000 exists here. */
export async function writeHostRoot(image: string, mapsVcap: boolean): Promise<void> {
  await writeSkeleton(image);
  await copyConfiguration(image);
  await copyScripts(image);
  if (mapsVcap) {
    await chown(join(image, 'home/vcap'), vcapId, vcapId);
  }
}

const systemLocaleDirectory = '/usr/lib/locale';
const name = 'en_US.utf8';

/**
 * Provides en_US.UTF-8, which stemcells have and jobs request, if the machine does not have it: it is C.UTF-8
 * under that name. It is made in `directory`, which replaces the machine's directory of locales and contains
 * its other locales, too. (To generate it by localedef takes two seconds of CPU time at each start.) Returns
 * the mounts; none if the machine has the locale or has no C.UTF-8.
 */
export async function ownLocale(host: string, directory: string): Promise<FstabEntry[]> {
  const plain = join(systemLocaleDirectory, 'C.utf8');
  if (!(await isDirectory(plain)) || (await hasLocale())) return [];
  await mkdir(directory);
  await cp(plain, join(directory, name), { recursive: true });
  const table = await readMountTable();
  const bind = (source: string, target: string): FstabEntry => ({
    source,
    target,
    type: 'none',
    options: ['bind', 'ro', ...flagsToPreserve(mountOf(table, source)), 'private'],
  });
  const entries = await readdir(systemLocaleDirectory, { withFileTypes: true });
  const kept = entries.filter((entry) => entry.isDirectory() || entry.isFile());
  for (const entry of kept) {
    if (entry.isDirectory()) await mkdir(join(directory, entry.name));
    else await writeFile(join(directory, entry.name), '');
  }
  const target = join(host, systemLocaleDirectory);
  return [
    bind(directory, target),
    ...kept.map((entry) => bind(join(systemLocaleDirectory, entry.name), join(target, entry.name))),
  ];
}

async function hasLocale(): Promise<boolean> {
  const { stdout } = await runCommand('locale', ['-a']);
  return /^en_US\.utf-?8$/im.test(stdout);
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
