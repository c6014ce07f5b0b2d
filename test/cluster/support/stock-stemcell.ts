import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openLayout } from '../../../src/oci/layout/open-layout.ts';
import { checkout } from '../../support/embedded-environment.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import { runWell } from '../../support/run.ts';
import { withFileLock, cachedDirectory } from '../programs/directory-cache.ts';
import type { RealCluster } from '../real-cluster.ts';
import type { Stemcell, StockStemcellPlan } from './cluster-under-test.ts';
import { loadStemcell } from './load-stemcell.ts';
import { notStock, stockFiles, type StockInit } from './stock-files.ts';
import { stockPackages } from './stock-packages.ts';
import { suiteStemcell } from './suite-stemcell.ts';

/** Returns the look-alike of a stock stemcell on that node, converted by `stemcell build --from`. */
export async function stockStemcell(
  cluster: RealCluster,
  { init, upstream, node }: StockStemcellPlan,
): Promise<Stemcell> {
  const { directory } = await made(cluster, init, upstream);
  const lock = join(cluster.layout.directory, `stemcell-stock-${init}.lock`);
  return withFileLock(lock, () => loadStemcell([cluster.node(node)], directory));
}

/** Returns the path of the heavy stemcell that it was made from. */
export async function heavyStockStemcell(cluster: RealCluster, init: StockInit): Promise<string> {
  return (await made(cluster, init, undefined)).heavy;
}

/**
 * Packs the suite's Debian root with a stock stemcell's paths, agent.json and init, as upstream packs it, and
 * converts it.
 */
async function made(
  cluster: RealCluster,
  init: StockInit,
  upstream: UpstreamAgent | undefined,
): Promise<{ readonly directory: string; readonly heavy: string }> {
  const base = await suiteStemcell(cluster, 'privileged', upstream);
  const files = JSON.stringify([stockFiles[init], notStock, installPackages]);
  const key = createHash('sha256').update(`${base.image}\n${files}`).digest('hex').slice(0, 12);
  const heavyBeside = (directory: string): string => `${directory}-heavy.tgz`;
  const directory = await cachedDirectory(`stock-${init}`, key, async (output) => {
    await packHeavy(dirname(base.archive), init, heavyBeside(output));
    const program = join(checkout, 'bin', 'bosh-kubernetes.mjs');
    const args = ['stemcell', 'build', '--from', heavyBeside(output), '--output', output];
    await runWell([process.execPath, program, ...args]);
  });
  return { directory, heavy: heavyBeside(directory) };
}

/** Installs the packages of a directory in a root. /dev and /proc are mounted only for these programs. */
const installPackages = `set -e
mkdir -p "$1/dev" "$1/proc"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
cp "$2"/*.deb "$1/tmp"
chroot "$1" dpkg --purge resolvconf
chroot "$1" sh -c 'dpkg --install /tmp/*.deb'
rm "$1"/tmp/*.deb`;

/** The archive is read a few times and then removed, so fast compression is enough. */
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
    if (init === 'systemd')
      await runWell([
        'unshare',
        '--mount',
        'sh',
        '-c',
        installPackages,
        'sh',
        root,
        await stockPackages(base),
      ]);
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
