import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../machine/machine.ts';
import type { ImageArchive } from './images.ts';

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
