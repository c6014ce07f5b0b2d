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
  /** Of the VMs; absent: that of the kubeconfig. */
  readonly namespace?: string | undefined;
}

export interface ClusterInspection {
  readonly cluster: ClusterIdentity;
  /** The cid of a VM that the state file records and its cluster no longer has: deleted behind our back. */
  readonly missingVm: string | undefined;
}

/**
 * Finds out which cluster a kubeconfig file names and whether the recorded VM is on it. Throws OTHER_CLUSTER when the
 * deployment is on another one, by the note beside its state; without a note, when nothing that it has is here. A role that
 * sees one namespace alone looks in that namespace, else in the kubeconfig's.
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
