import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { importArchive } from '../image/import-image.ts';
import { runWell } from '../machine/run.ts';
import type { ClusterNode } from '../node/cluster-node.ts';
import type { RealCluster } from '../real-cluster.ts';
import type { Stemcell } from './cluster-under-test.ts';

/** Puts a stemcell, a folder that `stemcell build` has made, onto every node. The same again changes nothing. */
export async function loadStemcell(cluster: RealCluster, directory: string): Promise<Stemcell> {
  const { reference, digest } = await imageOf(join(directory, 'image'));
  const image = `${reference.replace(/:[^:/]*$/u, '')}@${digest}`;
  await Promise.all(cluster.nodes.map((node) => load(node, directory, { reference, image })));
  return { image, archive: join(directory, 'stemcell.tgz') };
}

interface Index {
  readonly manifests: readonly { readonly digest: string; readonly annotations?: Record<string, string> }[];
}

async function imageOf(layout: string): Promise<{ reference: string; digest: string }> {
  const { manifests } = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')) as Index;
  const [manifest] = manifests;
  const reference = manifest?.annotations?.['org.opencontainers.image.ref.name'];
  if (manifest === undefined || reference === undefined) throw new Error(`${layout} names no image`);
  return { reference, digest: manifest.digest };
}

/** By tag, as it is imported, and by digest, as the light stemcell and so its cid name it. */
async function load(
  node: ClusterNode,
  directory: string,
  { reference, image }: { reference: string; image: string },
): Promise<void> {
  const { stdout } = await node.ctr(['images', 'list', '--quiet', `name==${image}`]);
  if (stdout.trim() !== '') return;
  const tar = join(node.machine.directory, 'stemcell.tar');
  try {
    await runWell(['tar', '--directory', join(directory, 'image'), '--create', '--file', tar, '.']);
    await importArchive(node.machine, tar);
    const tagged = await node.ctr(['images', 'tag', '--force', reference, image]);
    if (tagged.exitCode !== 0) throw new Error(`ctr images tag: ${tagged.stderr}`);
  } finally {
    await rm(tar, { force: true });
  }
}
