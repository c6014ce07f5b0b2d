import { join, relative } from 'node:path';
import type { SecurityProfile } from '../../../src/cpi/config/profile.ts';
import { checkout } from '../../support/embedded-environment.ts';
import { runWell } from '../../support/run.ts';
import { withFileLock, cachedDirectory } from '../programs/directory-cache.ts';
import type { RealCluster } from '../real-cluster.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import type { Stemcell } from './cluster-under-test.ts';
import { loadStemcell } from './load-stemcell.ts';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { codeDigest } from '../../support/code-digest.ts';

/**
 * runc for bpm, nodejs for the example's job, and systemd of stock stemcells (stock-stemcell.ts), which does
 * nothing in these stemcells. The other packages are there so that all profiles have the same root, which is
 * built once. A program that a published release needs belongs to src/stemcell/debian/root-request.ts.
 */
export const stemcellPackages = ['runc', 'nodejs', 'iptables', 'nftables', 'systemd-sysv', 'dbus'];

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
  return withFileLock(lock, () => loadStemcell(cluster.nodes, directory));
}

/** Returns the path of that stemcell on this machine. Needs no cluster. */
export async function stemcellDirectory(profile: SecurityProfile, upstream?: UpstreamAgent): Promise<string> {
  const key = await stemcellDigest(stemcellPackages, upstream);
  return cachedDirectory(kindOf(profile, upstream), key, (made) => build(made, profile, upstream));
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
    '--without-compilers',
    '--output',
    directory,
    ...stemcellPackages.flatMap((name) => ['--include', name]),
  ];
  const args = upstream === undefined ? own : [...own, ...flagsOf(upstream)];
  const program = join(checkout, 'bin', 'bosh-kubernetes.mjs');
  await runWell([process.execPath, program, 'stemcell', 'build', '--offline', ...args]);
}

const flagsOf = ({ agent, monit, davcli }: UpstreamAgent): readonly string[] => [
  ...['--agent', agent, '--monit', monit],
  ...(davcli === undefined ? [] : ['--davcli', davcli]),
];

const pathsOf = ({ agent, monit, davcli }: UpstreamAgent): readonly string[] => [
  ...[agent, monit],
  ...(davcli === undefined ? [] : [davcli]),
];

/**
 * Returns the digest of everything that a stemcell of the suite is made from: its agent, the files for its
 * root, its builder and packages.
 */
async function stemcellDigest(
  packages: readonly string[],
  upstream: UpstreamAgent | undefined,
): Promise<string> {
  const hash = createHash('sha256').update(packages.join(' '));
  hash.update(await codeDigest('src/cli/stemcell/build.ts'));
  hash.update(await readFile(join(checkout, 'package-lock.json')));
  const programs =
    upstream === undefined
      ? [await codeDigest('src/agent/main.ts'), await codeDigest('scripts/build-agent.ts')]
      : await Promise.all(pathsOf(upstream).map((path) => readFile(path)));
  for (const program of programs) hash.update(program);
  for (const asset of await assetsBelow('src/stemcell'))
    hash.update(asset).update(await readFile(join(checkout, asset)));
  return hash.digest('hex').slice(0, 12);
}

/** Returns the files that the builder reads when it runs. */
async function assetsBelow(path: string): Promise<string[]> {
  const entries = await readdir(join(checkout, path), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.ts'))
    .map((entry) => relative(checkout, join(entry.parentPath, entry.name)))
    .toSorted();
}

const variable = 'BOSH_KUBERNETES_TEST_STEMCELLS';

/**
 * Returns the environment variable that tells test files which stemcells are on the nodes, by kind. Each file
 * would take a second per stemcell to find this out.
 */
export function withPreparedStemcells(stemcells: Readonly<Record<string, Stemcell>>): NodeJS.ProcessEnv {
  return { [variable]: JSON.stringify(stemcells) };
}

/** Returns the stemcell of that kind if the parent process has loaded it onto the nodes. */
function preparedStemcell(kind: string): Stemcell | undefined {
  const { [variable]: prepared = '{}' } = process.env;
  return (JSON.parse(prepared) as Readonly<Record<string, Stemcell>>)[kind];
}
