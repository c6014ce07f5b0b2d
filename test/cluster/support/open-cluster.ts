import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SecurityProfile } from '../../../src/cpi/config/profile.ts';
import { loadAccess } from '../../../src/kubernetes/access/kubeconfig-access.ts';
import { clusterAt } from '../bring-up.ts';
import { drivers, loopDriver } from '../csi/drivers.ts';
import { openVolumeStore } from '../csi/volume-store.ts';
import { clusterPathsOf } from '../cluster-paths.ts';
import { fixedAddresses } from '../network.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import { kubeletDirectory } from '../node/configuration.ts';
import type { RealCluster } from '../real-cluster.ts';
import { volumePaths } from '../volumes/services.ts';
import type { ClusterUnderTest } from './cluster-under-test.ts';
import { type ForeignSettings, foreignSettings, openForeignCluster } from './foreign-cluster.ts';
import { nodeUnderTest } from './node-under-test.ts';
import { heavyStockStemcell, stockStemcell } from './stock-stemcell.ts';
import { suiteStemcell } from './suite-stemcell.ts';

/** The cluster that the suites were configured to use, before any access to it. */
type RequestedCluster =
  | { readonly kind: 'own'; readonly name: string }
  | { readonly kind: 'kubeconfig'; readonly settings: ForeignSettings }
  | { readonly kind: 'none'; readonly reason: string };

/**
 * Reads the variables that `npm run test:cluster` sets. KUBECONFIG alone does not permit the creation of
 * namespaces there.
 */
export function askedCluster(environment: NodeJS.ProcessEnv = process.env): RequestedCluster {
  const { BOSH_KUBERNETES_TEST_CLUSTER: name = '', BOSH_KUBERNETES_TEST_KUBECONFIG: kubeconfig = '' } =
    environment;
  if (name !== '') return { kind: 'own', name };
  if (kubeconfig === '') return { kind: 'none', reason: 'needs a real cluster: npm run test:cluster' };
  const settings = foreignSettings(kubeconfig, environment);
  return typeof settings === 'string' ? { kind: 'none', reason: settings } : { kind: 'kubeconfig', settings };
}

/** Returns the `skip` option of a test that needs a stemcell for that profile or with an upstream agent. */
export function withoutStemcell(profile: SecurityProfile, upstream?: UpstreamAgent): string | false {
  const requested = askedCluster();
  if (requested.kind !== 'kubeconfig') return false;
  if (upstream !== undefined) return "needs the suite's own cluster, whose stemcells have an upstream agent";
  const variable = `CONFORMANCE_STEMCELL_${profile.toUpperCase().replace('-', '_')}`;
  return (
    requested.settings.stemcells[profile] === undefined && `needs ${variable}, an image for that profile`
  );
}

/** Returns the `skip` option of a test that moves a disk to another class. */
export function withoutOtherClass(): string | false {
  const requested = askedCluster();
  const missing = requested.kind === 'kubeconfig' && requested.settings.waitingStorageClass === undefined;
  return missing && 'needs CONFORMANCE_WAITING_STORAGE_CLASS, which a disk can be moved to';
}

/** Opens the cluster. The suite's stemcell is on its nodes. */
export async function openCluster(requested: RequestedCluster): Promise<ClusterUnderTest> {
  switch (requested.kind) {
    case 'own': {
      const cluster = clusterAt(clusterPathsOf(requested.name));
      const kubeconfig = await readFile(cluster.layout.kubeconfig, 'utf8');
      return {
        access: await loadAccess(kubeconfig),
        kubeconfig,
        kubectl: [cluster.kubectl, '--kubeconfig', cluster.layout.kubeconfig],
        kubeletRootDirectory: kubeletDirectory,
        stemcell: await suiteStemcell(cluster, 'privileged'),
        stemcellFor: (profile, upstream) => suiteStemcell(cluster, profile, upstream),
        stockStemcell: (plan) => stockStemcell(cluster, plan),
        heavyStockStemcell: (init) => heavyStockStemcell(cluster, init),
        fixedAddress: (number) => fixedAddresses[number],
        storageClass: (diskClass) => diskClass,
        violations: (volume) => violationsOf(cluster, volume),
        hasSnapshot: (handle) => hasSnapshot(cluster, handle),
        nodes: cluster.nodes.map((node) => nodeUnderTest(cluster, node)),
        close: () => Promise.resolve(),
      };
    }
    case 'kubeconfig':
      return openForeignCluster(requested.settings);
    case 'none':
      throw new Error(requested.reason);
  }
}

/** Returns the violations of a volume, which is in the store of one of the drivers under its own name. */
async function violationsOf({ layout }: RealCluster, volume: string): Promise<readonly string[]> {
  const { volumes } = volumePaths(layout);
  const found = await Promise.all(
    drivers.map(async ({ name }) => (await openVolumeStore(join(volumes, name))).violations(volume)),
  );
  return found.flat().map((violation) => JSON.stringify(violation));
}

async function hasSnapshot({ layout }: RealCluster, handle: string): Promise<boolean> {
  const store = await openVolumeStore(join(volumePaths(layout).volumes, loopDriver.name));
  return (await store.snapshot(handle)) !== undefined;
}
