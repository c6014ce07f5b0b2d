import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadAccess } from '../../../src/kubernetes/load-access.ts';
import { clusterAt } from '../cluster-at.ts';
import { drivers } from '../csi/drivers.ts';
import { openVolumeStore } from '../csi/volume/volume-store.ts';
import { layoutOf } from '../layout.ts';
import { fixedAddresses } from '../network.ts';
import { kubeletDirectory } from '../node/configuration.ts';
import type { RealCluster } from '../real-cluster.ts';
import { volumePlaces } from '../volumes/services.ts';
import type { ClusterUnderTest } from './cluster-under-test.ts';
import { nodeUnderTest } from './node-under-test.ts';
import { suiteStemcell } from './suite-stemcell.ts';

/** Which cluster the suites were told to use, before anything of it is looked at. */
export type AskedCluster =
  | { readonly kind: 'own'; readonly name: string }
  | { readonly kind: 'none'; readonly reason: string };

/** `npm run test:cluster` sets the variable. */
export function askedCluster(environment: NodeJS.ProcessEnv = process.env): AskedCluster {
  const { BOSH_KUBERNETES_TEST_CLUSTER: name = '', KUBECONFIG: kubeconfig = '' } = environment;
  if (name !== '') return { kind: 'own', name };
  const own = 'a cluster whose nodes and volumes it may trouble: npm run test:cluster';
  return { kind: 'none', reason: kubeconfig === '' ? `needs ${own}` : `needs, without KUBECONFIG, ${own}` };
}

/** The cluster; the suite's stemcell is on its nodes. */
export async function openCluster(asked: AskedCluster): Promise<ClusterUnderTest> {
  switch (asked.kind) {
    case 'own': {
      const cluster = clusterAt(layoutOf(asked.name));
      const kubeconfig = await readFile(cluster.layout.kubeconfig, 'utf8');
      return {
        access: await loadAccess(kubeconfig),
        kubeconfig,
        kubectl: [cluster.kubectl, '--kubeconfig', cluster.layout.kubeconfig],
        kubeletRootDirectory: kubeletDirectory,
        stemcell: await suiteStemcell(cluster, 'privileged'),
        stemcellFor: (profile, upstream) => suiteStemcell(cluster, profile, upstream),
        fixedAddress: (number) => fixedAddresses[number],
        violations: (volume) => violationsOf(cluster, volume),
        nodes: cluster.nodes.map((node) => nodeUnderTest(cluster, node)),
      };
    }
    case 'none':
      throw new Error(asked.reason);
  }
}

/** A volume is in the store of one of the drivers, under its own name. */
async function violationsOf({ layout }: RealCluster, volume: string): Promise<readonly string[]> {
  const { volumes } = volumePlaces(layout);
  const found = await Promise.all(
    drivers.map(async ({ name }) => (await openVolumeStore(join(volumes, name))).violations(volume)),
  );
  return found.flat().map((violation) => JSON.stringify(violation));
}
