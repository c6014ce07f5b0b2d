import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Profile } from '../../../src/cpi/vm/profile.ts';
import { checkout } from '../../support/embedded-line.ts';
import { runWell } from '../machine/run.ts';
import { holdingLock } from '../programs/holding-lock.ts';
import type { RealCluster } from '../real-cluster.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import type { Stemcell } from './cluster-under-test.ts';
import { loadStemcell } from './load-stemcell.ts';
import { stemcellDigest } from './stemcell-digest.ts';

/**
 * runc for what bpm does, nodejs for the example's job, the inits of stock stemcells (stock-stemcell.ts), which do nothing in
 * these; the rest so that the roots of all profiles are one, made once.
 */
const packages = [
  ...['runc', 'nodejs', 'iptables', 'kmod', 'nftables'],
  ...['systemd-sysv', 'dbus', 'cron', 'runit'],
];

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
    return loadStemcell(cluster, directory);
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
