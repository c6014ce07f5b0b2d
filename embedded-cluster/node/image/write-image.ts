import { chmod, chown, copyFile, mkdir, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { scriptPath } from '../runtime/script-path.ts';
import { hostRootFiles } from './image-skeleton.ts';
import { writeFile } from '../../../src/platform/write-file.ts';

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
