import type { PendingDisk } from '../../deploy/state/pending-file.ts';
import { readCid } from '../../inventory/recorded-use.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import type { KubernetesObject, Stored } from '../../kubernetes/object.ts';
import { pods, persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';

/** `unknown`: the cid has a context prefix, so the VM may be in another cluster than the searched one. */
export type Finding = 'here' | 'lost' | 'unknown';

/**
 * Searches a VM's pod in all namespaces, because the CPI may use another one than the kubeconfig's. Searches
 * only `namespace` if the role may not list all.
 */
export async function findVm(
  api: Pick<KubernetesApi, 'list'>,
  namespace: string,
  vmCid: string,
): Promise<Finding> {
  if ((await findVmPod(api, namespace, vmCid)) !== undefined) return 'here';
  return readCid(vmCid).context === undefined ? 'lost' : 'unknown';
}

/** Returns the pod of a VM, or undefined if it does not exist. Searches as findVm does. */
export async function findVmPod(
  api: Pick<KubernetesApi, 'list'>,
  namespace: string,
  vmCid: string,
): Promise<Stored<KubernetesObject> | undefined> {
  const fieldSelector = `metadata.name=${readCid(vmCid).name}`;
  const { items } = await api.list(pods, { fieldSelector }).catch((error: unknown) => {
    if (!isApiError(error, 403)) throw error;
    return api.list(pods, { fieldSelector, namespace });
  });
  return items[0];
}

/**
 * Returns true if one of these disks is in the cluster. Searches all namespaces, because the CPI may use one
 * for disks, or only the kubeconfig's namespace if the role may not list all. `unconfirmed` are disks without
 * a cid: every claim that may be one of them counts.
 */
export async function hasAnyDisk(
  api: KubernetesApi,
  namespace: string,
  cids: readonly string[],
  unconfirmed: readonly PendingDisk[] = [],
): Promise<boolean> {
  const labelSelector = 'bosh.cloudfoundry.org/kind=disk';
  const { items } = await api
    .list<PersistentVolumeClaim>(persistentVolumeClaims, { labelSelector })
    .catch((error: unknown) => {
      if (!isApiError(error, 403)) throw error;
      return api.list<PersistentVolumeClaim>(persistentVolumeClaims, { labelSelector, namespace });
    });
  const names = cids.map((cid) => readCid(cid).name);
  return items.some(
    (claim) =>
      names.includes(claim.metadata.name) || unconfirmed.some((disk) => matchesPendingDisk(claim, disk)),
  );
}

/**
 * Returns true for an unclaimed PVC of the right size that was created at or after the request. Creation
 * times have a resolution of one second.
 */
function matchesPendingDisk(
  { metadata, spec }: PersistentVolumeClaim,
  { size, requested_at }: PendingDisk,
): boolean {
  return (
    metadata.labels?.['bosh.cloudfoundry.org/unclaimed'] !== undefined &&
    spec.resources?.requests?.['storage'] === `${size}Mi` &&
    Date.parse(metadata.creationTimestamp ?? '') > Date.parse(requested_at) - 1000
  );
}
