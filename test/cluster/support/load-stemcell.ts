import { readFile, rm } from 'node:fs/promises';
import { join, basename } from 'node:path';
import { importArchive } from '../image/images.ts';
import type { Machine } from '../machine/machine.ts';
import { runWell } from '../../support/run.ts';
import type { ClusterNode } from '../node/cluster-node.ts';
import type { Stemcell } from './cluster-under-test.ts';
import { createHash } from 'node:crypto';
import { makeImageStore } from '../image/image-store.ts';
import { cachedDirectory } from '../programs/directory-cache.ts';

/** Loads a stemcell, a directory that `stemcell build` has made, onto these nodes. Idempotent. */
export async function loadStemcell(nodes: readonly ClusterNode[], directory: string): Promise<Stemcell> {
  const image = await imageOf(directory);
  await Promise.all(nodes.map(({ machine }) => loadInto(machine, directory, image)));
  return { image: image.pinned, archive: join(directory, 'stemcell.tgz') };
}

/** Loads the stemcell into the containerd of one machine. */
async function loadStemcellInto(machine: Machine, directory: string): Promise<void> {
  await loadInto(machine, directory, await imageOf(directory));
}

interface Index {
  readonly manifests: readonly { readonly digest: string; readonly annotations?: Record<string, string> }[];
}

interface Image {
  readonly reference: string;
  /** The reference by digest, which the light stemcell and so its cid contain. */
  readonly pinned: string;
}

async function imageOf(directory: string): Promise<Image> {
  const layout = join(directory, 'image');
  const { manifests } = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')) as Index;
  const [manifest] = manifests;
  const reference = manifest?.annotations?.['org.opencontainers.image.ref.name'];
  if (manifest === undefined || reference === undefined) throw new Error(`${layout} names no image`);
  return { reference, pinned: `${reference.replace(/:[^:/]*$/u, '')}@${manifest.digest}` };
}

/** Imports the image by tag and names it by digest, too. */
async function loadInto(machine: Machine, directory: string, { reference, pinned }: Image): Promise<void> {
  const images = ['ctr', '--namespace', 'k8s.io', 'images'];
  if ((await machine.runWell([...images, 'list', '--quiet', `name==${pinned}`])).trim() !== '') return;
  const tar = join(machine.directory, 'stemcell.tar');
  try {
    await runWell(['tar', '--directory', join(directory, 'image'), '--create', '--file', tar, '.']);
    await importArchive(machine, tar);
    await machine.runWell([...images, 'tag', '--force', reference, pinned]);
  } finally {
    await rm(tar, { force: true });
  }
}

/**
 * Returns the directory that the containerd of a new node starts with. It contains these stemcells, unpacked
 * once for all nodes of all clusters.
 */
export async function stemcellStore(directories: readonly string[]): Promise<string> {
  const containerd = await runWell(['containerd', '--version']);
  const names = directories.map((directory) => basename(directory));
  const key = createHash('sha256')
    .update([containerd, ...names].join('\n'))
    .digest('hex')
    .slice(0, 12);
  const make = (made: string): Promise<void> =>
    makeImageStore(made, async (machine) => {
      for (const directory of directories) await loadStemcellInto(machine, directory);
    });
  // It is larger than the stemcells together, and nodes that have it do not need it any more.
  return cachedDirectory('image-store', key, make, { keptMs: 60 * 60 * 1000 });
}
