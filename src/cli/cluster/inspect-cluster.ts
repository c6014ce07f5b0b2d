import { resolve } from 'node:path';
import type { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { describeCluster, type ClusterIdentity } from '../../deploy/state/recorded-cluster.ts';
import { ProductError } from '../../errors/product-error.ts';
import { findVm, hasAnyDisk } from './find-resources.ts';
import { identifyCluster, withKubernetes, type ConnectOptions } from './kubeconfig.ts';

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
 * OTHER_CLUSTER if another cluster is recorded for the deployment or, without a record, if none of the
 * deployment's resources is here. If the role may not list all namespaces, searches `namespace`, otherwise
 * the kubeconfig's.
 */
export function inspectCluster(
  files: DeploymentFiles,
  kubeconfig: string,
  { namespace: requestedNamespace, ...options }: InspectOptions,
): Promise<ClusterInspection> {
  return withKubernetes(
    kubeconfig,
    async (api, access) => {
      const namespace = requestedNamespace ?? access.namespace;
      const cluster = await identifyCluster(api, access, resolve(kubeconfig));
      await files.assertOnCluster(cluster);
      const known = await files.readKnownResources();
      if (known?.vmCid === undefined) return { cluster, missingVm: undefined };
      const found = await findVm(api, namespace, known.vmCid);
      if (found === 'here') return { cluster, missingVm: undefined };
      const isRecorded = (await files.readCluster()) !== undefined;
      if (!isRecorded && known.diskCids.length > 0 && !(await hasAnyDisk(api, namespace, known.diskCids))) {
        throw new ProductError(
          'OTHER_CLUSTER',
          `${known.describe()}, and nothing of that is on ${describeCluster(cluster)}; ` +
            `nothing was changed. ${files.otherClusterAdvice}`,
        );
      }
      return { cluster, missingVm: found === 'lost' ? known.vmCid : undefined };
    },
    options,
  );
}
