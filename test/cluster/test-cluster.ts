import { readFileSync } from 'node:fs';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import type { Access } from '../../src/kubernetes/access/access.ts';
import { clusterAt } from './cluster-at.ts';
import { layoutOf } from './layout.ts';
import type { RealCluster } from './real-cluster.ts';

const { BOSH_KUBERNETES_TEST_CLUSTER: name = '', BOSH_KUBERNETES_TEST_KUBECONFIG: kubeconfig = '' } =
  process.env;

/** Options for `test` and `describe`: the reason to skip if there is no real cluster, otherwise empty. */
const withoutCluster = kubeconfig === '' ? { skip: 'needs a real cluster: npm run test:cluster' } : {};

/** Options for tests that access nodes, which only the suite's own cluster allows. */
export const withoutNodes =
  kubeconfig === '' || name !== ''
    ? withoutCluster
    : { skip: "needs the nodes of the suite's own cluster: npm run test:cluster without KUBECONFIG" };

/** Returns access to the cluster under test, as an administrator. */
export function clusterAccess(): Promise<Access> {
  return loadAccess(readFileSync(kubeconfig, 'utf8'));
}

/** Returns the suite's own cluster, for tests with the options `withoutNodes`. */
export function testCluster(): RealCluster {
  return clusterAt(layoutOf(name));
}
