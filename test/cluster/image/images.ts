import { createHash, randomUUID } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { packTar, type TarEntry } from 'modern-tar';
import { runWell } from '../../support/run.ts';
import { join } from 'node:path';
import type { Machine } from '../machine/machine.ts';

/** An image in the format of `docker save`. */
export interface ImageArchive {
  readonly reference: string;
  readonly tar: Uint8Array;
}

export const pauseImage = 'bosh-kubernetes.test/pause:1';
/** BusyBox with all its commands. */
export const busyboxImage = 'bosh-kubernetes.test/busybox:1';

/** The path of Debian's busybox-static. */
export const busybox = '/bin/busybox';

/** The process of the sandbox: it waits and exits at once on a signal. */
const pause = 'trap "exit 0" TERM INT; while :; do sleep 86400 & wait "$!"; done';

/** Returns the images that the suites' pods need beside stemcells, built from a static BusyBox. */
export async function busyboxImages(): Promise<ImageArchive[]> {
  const program = await readFile(busybox);
  const commands = (await runWell([busybox, '--list'])).trim().split('\n');
  const root: TarEntry[] = [
    ...['bin', 'dev', 'etc', 'proc', 'root', 'sys', 'var'].map(directory),
    { ...directory('tmp'), header: { name: 'tmp/', type: 'directory', mode: 0o1777, size: 0 } },
    file('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\n'),
    file('etc/group', 'root:x:0:\n'),
    { header: { name: 'bin/busybox', size: program.length, mode: 0o755 }, body: program },
    ...commands
      .filter((name) => name !== 'busybox')
      .map((name): TarEntry => ({
        header: { name: `bin/${name}`, type: 'symlink', linkname: 'busybox', size: 0 },
      })),
  ];
  return [
    await archiveImage(pauseImage, root, ['/bin/sh', '-c', pause]),
    await archiveImage(busyboxImage, root, ['/bin/sh']),
  ];
}

/** Returns an image with one layer whose containers run `command`. */
async function archiveImage(
  reference: string,
  root: readonly TarEntry[],
  command: readonly string[],
): Promise<ImageArchive> {
  const layer = await packTar([...root]);
  const digest = createHash('sha256').update(layer).digest('hex');
  const configuration = JSON.stringify({
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'], Cmd: command },
    rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
  });
  const manifest = [{ Config: 'config.json', RepoTags: [reference], Layers: ['layer.tar'] }];
  const tar = await packTar([
    file('manifest.json', JSON.stringify(manifest)),
    file('config.json', configuration),
    { header: { name: 'layer.tar', size: layer.length }, body: layer },
  ]);
  return { reference, tar };
}

function directory(name: string): TarEntry {
  return { header: { name: `${name}/`, type: 'directory', mode: 0o755, size: 0 } };
}

function file(name: string, text: string): TarEntry {
  return { header: { name, size: Buffer.byteLength(text), mode: 0o644 }, body: text };
}

/** Imports an image into a node's containerd, for pods. Idempotent. */
export async function importImage(node: Machine, { tar }: ImageArchive): Promise<void> {
  const path = join(node.directory, `image-${randomUUID()}.tar`);
  try {
    await writeFile(path, tar);
    await importArchive(node, path);
  } finally {
    await rm(path, { force: true });
  }
}

/** Imports a file that the node sees: a docker-archive or the tar of an OCI layout. */
export async function importArchive(node: Machine, path: string): Promise<void> {
  await node.runWell(['ctr', '--namespace', 'k8s.io', 'images', 'import', path]);
}

export const staticIpReference = 'bosh-kubernetes.test/static-ip:1';

/**
 * Returns the image of manifests/static-ip/Dockerfile, with this machine's libraries instead of a
 * distribution's.
 */
export async function staticIpImage(executable: string): Promise<ImageArchive> {
  const libraries = (await runWell(['ldd', executable])).match(/\/\S+\.so\S*/gu) ?? [];
  const files: TarEntry[] = [];
  for (const [path, name] of [
    [executable, 'static-ip'],
    ...libraries.map((library) => [library, library.slice(1)]),
  ] as const) {
    const body = await readFile(path ?? '');
    files.push({ header: { name: name ?? '', size: body.length, mode: 0o755 }, body });
  }
  return archiveImage(staticIpReference, files, ['/static-ip']);
}
