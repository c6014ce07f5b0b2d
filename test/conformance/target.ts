import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestAgent } from '../../src/cpi/testing/agents.ts';
import type { Access } from '../../src/kubernetes/access/access.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { testCluster } from '../cluster/test-cluster.ts';
import { EmbeddedEnvironment } from '../support/embedded-environment.ts';
import { stemcell } from '../support/line-vm.ts';

/** The cluster that the suite runs against. */
export interface Target {
  readonly kind: 'embedded' | 'kubeconfig';
  /**
   * Access as an administrator: the suite reads the objects that the CPI made, and creates namespaces and
   * roles.
   */
  readonly access: Access;
  readonly kubeconfig: string;
  readonly kubeletRootDirectory: string;
  /** The cid of a stemcell with an agent that its nodes can run. */
  readonly stemcell: string;
  /** Free fixed addresses of its pod network; empty if the network cannot assign a fixed one. */
  readonly addresses: readonly string[];
  /** The optional features of its API and its network. */
  readonly offers: { readonly networkPolicies: boolean; readonly dualStack: boolean };
  /** Restarts the API server; undefined if the suite may not do that. */
  readonly restart?: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * Reads KUBECONFIG with CONFORMANCE_STEMCELL (image reference) and, if the network can assign fixed
 * addresses, CONFORMANCE_ADDRESSES (comma-separated); if pods get one address of each family,
 * CONFORMANCE_DUAL_STACK (any value). Without them the suite starts an embedded cluster of its own, whose
 * addresses are 127.64.76.0/24 and whose VMs run `agent` instead of this project's.
 */
export async function openTarget(agent: TestAgent | undefined): Promise<Target> {
  const { KUBECONFIG: path, CONFORMANCE_STEMCELL: image, CONFORMANCE_ADDRESSES: addresses } = process.env;
  if (path === undefined || path === '') return embedded(agent);
  if (image === undefined) throw new Error('KUBECONFIG is set: CONFORMANCE_STEMCELL has to name an image');
  const kubeconfig = await readFile(path, 'utf8');
  return {
    kind: 'kubeconfig',
    access: await loadAccess(kubeconfig),
    kubeconfig,
    kubeletRootDirectory: process.env['CONFORMANCE_KUBELET_ROOT_DIR'] ?? '/var/lib/kubelet',
    stemcell: image,
    addresses: addresses === undefined ? [] : addresses.split(','),
    offers: { networkPolicies: true, dualStack: (process.env['CONFORMANCE_DUAL_STACK'] ?? '') !== '' },
    // the suite may only restart the cluster of npm run test:cluster
    ...((process.env['BOSH_KUBERNETES_TEST_CLUSTER'] ?? '') !== '' && {
      restart: () => testCluster().controlPlane.restartApiServer(),
    }),
    stop: async () => {},
  };
}

async function embedded(agent: TestAgent | undefined): Promise<Target> {
  const line = await EmbeddedEnvironment.start({
    nodes: ['embedded-2=two'],
    ...(agent !== undefined && { agent }),
  });
  return {
    kind: 'embedded',
    access: line.access,
    kubeconfig: await readFile(line.kubeconfig, 'utf8'),
    kubeletRootDirectory: join(line.clusterDirectory, 'kubelet'),
    stemcell,
    offers: { networkPolicies: false, dualStack: false },
    addresses: Array.from({ length: 40 }, (_, index) => `127.64.76.${index + 10}`),
    restart: async () => {
      await line.kill('everything');
      await line.restart();
    },
    stop: async () => {
      await line.destroy();
      await line.remove();
    },
  };
}
