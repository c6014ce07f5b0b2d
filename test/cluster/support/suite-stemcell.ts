import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Profile } from '../../../src/cpi/vm/profile.ts';
import { checkout } from '../../support/embedded-line.ts';
import { importArchive } from '../image/import-image.ts';
import { runWell } from '../machine/run.ts';
import type { ClusterNode } from '../node/cluster-node.ts';
import { holdingLock } from '../programs/holding-lock.ts';
import type { RealCluster } from '../real-cluster.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import type { Stemcell } from './cluster-under-test.ts';
import { stemcellDigest } from './stemcell-digest.ts';

/** runc for what bpm does, nodejs for the example's job; the rest so that the roots of all profiles are one, made once. */
const packages = ['runc', 'nodejs', 'iptables', 'kmod', 'nftables'];

/**
 * The stemcell of a profile as `bosh-kubernetes stemcell build` makes it, with runc, on every node of the cluster; made
 * once per cluster, and again where anything that goes into it has changed. With `upstream` that agent runs there instead
 * of ours.
 */
export async function suiteStemcell(
  cluster: RealCluster,
  profile: Profile,
  upstream?: UpstreamAgent,
): Promise<Stemcell> {
  const stemcells = join(cluster.layout.directory, 'stemcells');
  const kind = upstream === undefined ? profile : `${profile}-upstream`;
  await mkdir(stemcells, { recursive: true });
  return holdingLock(join(stemcells, `${kind}.lock`), async () => {
    const directory = join(stemcells, `${kind}-${await stemcellDigest(packages, upstream)}`);
    if (!existsSync(directory)) await build(directory, profile, upstream);
    const { reference, digest } = await imageOf(join(directory, 'image'));
    const image = `${reference.replace(/:[^:/]*$/u, '')}@${digest}`;
    for (const node of cluster.nodes) await load(node, directory, { reference, image });
    return { image, archive: join(directory, 'stemcell.tgz') };
  });
}

async function build(
  directory: string,
  profile: Profile,
  upstream: UpstreamAgent | undefined,
): Promise<void> {
  const own = [
    '--from-debian',
    '--profile',
    profile,
    '--output',
    directory,
    ...packages.flatMap((name) => ['--include', name]),
  ];
  const words = upstream === undefined ? own : [...own, '--agent', upstream.agent, '--monit', upstream.monit];
  const program = join(checkout, 'bin', 'bosh-kubernetes.mjs');
  await runWell([process.execPath, program, 'stemcell', 'build', '--offline', ...words]);
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
