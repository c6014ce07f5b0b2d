import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openLayout } from '../../../src/oci/layout/open-layout.ts';
import { checkout } from '../../support/embedded-line.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import { runWell } from '../machine/run.ts';
import { holdingLock } from '../programs/holding-lock.ts';
import type { RealCluster } from '../real-cluster.ts';
import type { Stemcell } from './cluster-under-test.ts';
import { loadStemcell } from './load-stemcell.ts';
import { notStock, stockFiles, type StockInit } from './stock-files.ts';
import { cachedFolder } from '../programs/folder-cache.ts';
import { suiteStemcell } from './suite-stemcell.ts';

/** A stemcell that looks like a stock one, on every node, and the heavy one that it was made from. */
export interface StockStemcell extends Stemcell {
  readonly heavy: string;
}

/**
 * The look-alike of a stock stemcell for containers: the suite's Debian root with a stock one's paths, agent.json and init,
 * packed as upstream packs it and converted by `stemcell build --from`.
 */
export async function stockStemcell(
  cluster: RealCluster,
  init: StockInit,
  upstream?: UpstreamAgent,
): Promise<StockStemcell> {
  const base = await suiteStemcell(cluster, 'privileged', upstream);
  const files = JSON.stringify([stockFiles[init], notStock]);
  const key = createHash('sha256').update(`${base.image}\n${files}`).digest('hex').slice(0, 12);
  const kind = `stock-${init}`;
  const heavyBeside = (directory: string): string => `${directory}-heavy.tgz`;
  const directory = await cachedFolder(kind, key, async (made) => {
    await packHeavy(dirname(base.archive), init, heavyBeside(made));
    const program = join(checkout, 'bin', 'bosh-kubernetes.mjs');
    const words = ['stemcell', 'build', '--from', heavyBeside(made), '--output', made];
    await runWell([process.execPath, program, ...words]);
  });
  const lock = join(cluster.layout.directory, `stemcell-${kind}.lock`);
  const loaded = await holdingLock(lock, () => loadStemcell(cluster, directory));
  return { ...loaded, heavy: heavyBeside(directory) };
}

/** It is read a few times and thrown away. */
const fast = ['--use-compress-program', 'gzip -1'];

async function packHeavy(base: string, init: StockInit, archive: string): Promise<void> {
  const work = `${archive}.work`;
  const root = join(work, 'root');
  await rm(work, { recursive: true, force: true });
  await mkdir(root, { recursive: true });
  try {
    for (const { digest } of (await openLayout(join(base, 'image'))).layers) {
      const blob = join(base, 'image', 'blobs', digest.replace(':', '/'));
      await runWell(['tar', '--extract', '--numeric-owner', '--directory', root, '--file', blob]);
    }
    for (const path of notStock) await rm(join(root, path), { recursive: true, force: true });
    for (const [path, { mode, text, target }] of Object.entries(stockFiles[init])) {
      await mkdir(join(root, dirname(path)), { recursive: true });
      await rm(join(root, path), { force: true });
      if (target !== undefined) await symlink(target, join(root, path));
      else await writeFile(join(root, path), text ?? '', { mode });
    }
    const image = join(work, 'image');
    await runWell(['tar', '--create', ...fast, '--numeric-owner', '--directory', root, '--file', image, '.']);
    const sha1 = createHash('sha1').update(await readFile(image));
    await writeFile(join(work, 'stemcell.MF'), manifestOf(init, sha1.digest('hex')));
    await runWell([
      'tar',
      '--create',
      ...fast,
      '--directory',
      work,
      '--file',
      archive,
      'stemcell.MF',
      'image',
    ]);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const manifestOf = (init: StockInit, sha1: string): string => `name: look-alike-of-stock-${init}
version: '1'
api_version: 3
bosh_protocol: '1'
sha1: ${sha1}
operating_system: debian-bookworm
stemcell_formats: [warden-tar]
cloud_properties: {name: look-alike, version: '1', infrastructure: warden}
`;
