import { readFile } from 'node:fs/promises';
import type { TarEntry } from 'modern-tar';
import { runWell } from '../machine/run.ts';
import type { ImageArchive } from './images.ts';
import { archiveImage } from './images.ts';

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
