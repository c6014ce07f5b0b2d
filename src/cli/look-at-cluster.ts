import { resolve } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { checkCluster, describeDeployment, nextSteps } from '../deploy/state/check-cluster.ts';
import { describeCluster, readClusterNote, type ClusterIdentity } from '../deploy/state/cluster-note.ts';
import { readKnownResources } from '../deploy/state/known-resources.ts';
import { identifyCluster } from './cluster-identity.ts';
import { withKubernetes, type ConnectOptions } from './connect.ts';
import { findVm } from './find-vm.ts';
import { hasAnyDisk } from './has-any-disk.ts';

export interface InspectOptions extends ConnectOptions {
  /** The namespace of the VMs. The default is the kubeconfig's. */
  readonly namespace?: string | undefined;
}

export interface ClusterInspection {
  readonly cluster: ClusterIdentity;
  /**
   * The cid of a VM that the state file records and that no longer exists in the cluster, because it was
   * deleted outside of BOSH.
   */
  readonly missingVm: string | undefined;
}

/**
 * Identifies the cluster of a kubeconfig file and checks whether the recorded VM is on it. Throws
 * OTHER_CLUSTER if the note beside the state file names another cluster or, without a note, if none of the
 * deployment's resources is here. If the role may not list all namespaces, searches `namespace`, otherwise
 * the kubeconfig's.
 */
export function inspectCluster(
  statePath: string,
  kubeconfig: string,
  { namespace: askedNamespace, ...options }: InspectOptions,
): Promise<ClusterInspection> {
  return withKubernetes(
    kubeconfig,
    async (api, access) => {
      const namespace = askedNamespace ?? access.namespace;
      const cluster = await identifyCluster(api, access, resolve(kubeconfig));
      await checkCluster(statePath, cluster);
      const known = await readKnownResources(statePath);
      if (known?.vmCid === undefined) return { cluster, missingVm: undefined };
      const found = await findVm(api, namespace, known.vmCid);
      if (found === 'here') return { cluster, missingVm: undefined };
      const unnoted = (await readClusterNote(statePath)) === undefined;
      if (unnoted && known.diskCids.length > 0 && !(await hasAnyDisk(api, namespace, known.diskCids))) {
        throw new ProductError(
          'OTHER_CLUSTER',
          `${describeDeployment(statePath, known)}, and nothing of that is on ${describeCluster(cluster)}; ` +
            `nothing was changed. ${nextSteps(statePath)}`,
        );
      }
      return { cluster, missingVm: found === 'lost' ? known.vmCid : undefined };
    },
    options,
  );
}
