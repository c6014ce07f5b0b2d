import { isApiError } from '../kubernetes/api-error.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import type { PendingDisk } from '../deploy/state/pending-file.ts';
import { persistentVolumeClaims } from '../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../kubernetes/volume.ts';
import { readCid } from './find-vm.ts';

/**
 * Whether one of these disks is in a cluster: in any namespace, since the CPI may have been told one for disks; in the kubeconfig's
 * own where the role sees no more. `unanswered`: disks without a cid, any that may be one of them counts.
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

/** A claim that nobody has claimed yet, of that size, and not from before the request: its times are whole seconds. */
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
