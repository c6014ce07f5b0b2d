import { isApiError } from '../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import type { PendingDisk } from '../deploy/state/pending-file.ts';
import { persistentVolumeClaims } from '../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../kubernetes/types/storage.ts';
import { readCid } from './find-vm.ts';

/**
 * Returns true if one of these disks is in the cluster. Searches all namespaces, because the CPI may use one
 * for disks, or only the kubeconfig's namespace if the role may not list all. `unanswered` are disks without
 * a cid: every claim that may be one of them counts.
 */
export async function hasAnyDisk(
  api: KubernetesApi,
  namespace: string,
  cids: readonly string[],
  unanswered: readonly PendingDisk[] = [],
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
      names.includes(claim.metadata.name ?? '') || unanswered.some((disk) => matchesPendingDisk(claim, disk)),
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
