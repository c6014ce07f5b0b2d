import { join } from 'node:path';
import type { SecurityProfile } from '../../../src/cpi/config/profile.ts';
import { checkout } from '../../support/embedded-line.ts';
import { runWell } from '../machine/run.ts';
import { holdingLock } from '../programs/holding-lock.ts';
import type { RealCluster } from '../real-cluster.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import type { Stemcell } from './cluster-under-test.ts';
import { loadStemcell } from './load-stemcell.ts';
import { preparedStemcell } from './prepared-stemcells.ts';
import { cachedFolder } from '../programs/folder-cache.ts';
import { stemcellDigest } from './stemcell-digest.ts';

/**
 * runc for bpm, nodejs for the example's job, and the inits of stock stemcells (stock-stemcell.ts), which do
 * nothing in these stemcells. The other packages are there so that all profiles have the same root, which is
 * built once.
 */
export const stemcellPackages = [
  ...['runc', 'nodejs', 'iptables', 'kmod', 'nftables'],
  ...['systemd-sysv', 'dbus', 'cron', 'runit'],
];

/** Returns the name of a profile's stemcell in the cache and for test files. */
export const kindOf = (profile: SecurityProfile, upstream?: UpstreamAgent): string =>
  upstream === undefined ? profile : `${profile}-upstream`;

/**
 * Returns the stemcell of a profile as `bosh-kubernetes stemcell build` makes it, with runc, on every node of
 * the cluster. It is built once, and again if one of its inputs has changed. `upstream` selects an upstream
 * agent instead of ours.
 */
export async function suiteStemcell(
  cluster: RealCluster,
  profile: SecurityProfile,
  upstream?: UpstreamAgent,
): Promise<Stemcell> {
  const kind = kindOf(profile, upstream);
  const prepared = preparedStemcell(kind);
  if (prepared !== undefined) return prepared;
  const directory = await stemcellDirectory(profile, upstream);
  // Several tests may call this at the same time.
  const lock = join(cluster.layout.directory, `stemcell-${kind}.lock`);
  return holdingLock(lock, () => loadStemcell(cluster.nodes, directory));
}

/** Returns the path of that stemcell on this machine. Needs no cluster. */
export async function stemcellDirectory(profile: SecurityProfile, upstream?: UpstreamAgent): Promise<string> {
  const key = await stemcellDigest(stemcellPackages, upstream);
  return cachedFolder(kindOf(profile, upstream), key, (made) => build(made, profile, upstream));
}

async function build(
  directory: string,
  profile: SecurityProfile,
  upstream: UpstreamAgent | undefined,
): Promise<void> {
  const own = [
    '--from-debian',
    '--profile',
    profile,
    '--output',
    directory,
    ...stemcellPackages.flatMap((name) => ['--include', name]),
  ];
  const words = upstream === undefined ? own : [...own, '--agent', upstream.agent, '--monit', upstream.monit];
  const program = join(checkout, 'bin', 'bosh-kubernetes.mjs');
  await runWell([process.execPath, program, 'stemcell', 'build', '--offline', ...words]);
}
