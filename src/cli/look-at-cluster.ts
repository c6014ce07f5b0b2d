import { resolve } from 'node:path';
import { ProductError } from '../errors/product-error.ts';
import { checkCluster, describeDeployment, nextSteps } from '../deploy/state/check-cluster.ts';
import { describeCluster, readClusterNote, type ClusterIdentity } from '../deploy/state/cluster-note.ts';
import { readKnownResources } from '../deploy/state/known-resources.ts';
import { isApiError } from '../kubernetes/api-error.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import { persistentVolumeClaims } from '../kubernetes/resources.ts';
import { identifyCluster } from './cluster-identity.ts';
import { withKubernetes } from './connect.ts';
import { findVm, readCid } from './find-vm.ts';

export interface ClusterLook {
  readonly cluster: ClusterIdentity;
  /** The cid of a VM that the state file records and its cluster no longer has: deleted behind our back. */
  readonly lostVm: string | undefined;
}

/**
 * Finds out which cluster a kubeconfig file names and whether the recorded VM is on it. Throws OTHER_CLUSTER when the
 * deployment is on another one, by the note beside its state; without a note, when nothing that it has is here.
 */
export function lookAtCluster(statePath: string, kubeconfig: string): Promise<ClusterLook> {
  return withKubernetes(kubeconfig, async (api, access) => {
    const cluster = await identifyCluster(api, access, resolve(kubeconfig));
    await checkCluster(statePath, cluster);
    const known = await readKnownResources(statePath);
    if (known?.vmCid === undefined) return { cluster, lostVm: undefined };
    const found = await findVm(api, access.namespace, known.vmCid);
    if (found === 'here') return { cluster, lostVm: undefined };
    const unnoted = (await readClusterNote(statePath)) === undefined;
    if (unnoted && known.diskCids.length > 0 && !(await hasAnyDisk(api, access.namespace, known.diskCids))) {
      throw new ProductError(
        'OTHER_CLUSTER',
        `${describeDeployment(statePath, known)}, and nothing of that is on ${describeCluster(cluster)}; ` +
          `nothing was changed. ${nextSteps(statePath)}`,
      );
    }
    return { cluster, lostVm: found === 'lost' ? known.vmCid : undefined };
  });
}

/** In any namespace, since the CPI may have been told one for disks; in the kubeconfig's own where the role sees no more. */
async function hasAnyDisk(api: KubernetesApi, namespace: string, cids: readonly string[]): Promise<boolean> {
  const labelSelector = 'bosh.cloudfoundry.org/kind=disk';
  const { items } = await api.list(persistentVolumeClaims, { labelSelector }).catch((error: unknown) => {
    if (!isApiError(error, 403)) throw error;
    return api.list(persistentVolumeClaims, { labelSelector, namespace });
  });
  const names = cids.map((cid) => readCid(cid).name);
  return items.some(({ metadata }) => names.includes(metadata.name ?? ''));
}
