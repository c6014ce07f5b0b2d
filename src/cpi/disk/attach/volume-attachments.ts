import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Resource } from '../../../kubernetes/api.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { Cloud } from '../../cloud.ts';
import { waitUntilGone } from '../../remove-object.ts';
import { findClaim } from '../claim.ts';

export const volumeAttachments: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'volumeattachments',
  namespaced: false,
};

interface VolumeAttachment extends KubernetesObject {
  spec: { nodeName: string; source: { persistentVolumeName?: string } };
}

/**
 * Waits until the storage driver has detached the disk's volume from the node it was on: before that an attach on
 * another node stalls. Resolves with whether it had it there at all. Nothing is waited for where the cluster has no
 * VolumeAttachments, the CPI's role may not list them (manifests/rbac/cluster.yaml), or the node is not known.
 */
export async function waitUntilVolumeDetached(
  cloud: Cloud,
  diskCid: string,
  node: string | undefined,
): Promise<boolean> {
  if (node === undefined) return false;
  const claim = await findClaim(cloud, diskCid);
  return claim !== undefined && (await waitForDriver(cloud, claim, (other) => other === node));
}

/**
 * The same for whatever node: a disk that no VM has may still be mounted there, where its attachment was deleted by
 * force, or by a pod that is not ours. A kubelet keeps a volume attached that is mounted anywhere on its node.
 */
export async function waitUntilOnNoNode(cloud: Cloud, claim: PersistentVolumeClaim): Promise<void> {
  await waitForDriver(cloud, claim, () => true);
}

async function waitForDriver(
  cloud: Cloud,
  { metadata: { name: diskCid = '' }, spec: { volumeName } }: PersistentVolumeClaim,
  isMeant: (node: string) => boolean,
): Promise<boolean> {
  if (volumeName === undefined) return false;
  const left = (await listVolumeAttachments(cloud)).filter(
    ({ spec }) => spec.source.persistentVolumeName === volumeName && isMeant(spec.nodeName),
  );
  await Promise.all(
    left.map(({ metadata: { name = '', uid = '' }, spec }) =>
      waitUntilGone(cloud, {
        reference: { resource: volumeAttachments, name },
        uid,
        deadlineSeconds: cloud.config.deadlines.detachDisk,
        what: `the storage driver's attachment of disk '${diskCid}' to node ${spec.nodeName}`,
      }),
    ),
  );
  return left.length > 0;
}

async function listVolumeAttachments(cloud: Cloud): Promise<VolumeAttachment[]> {
  try {
    return (await cloud.api.list<VolumeAttachment>(volumeAttachments)).items;
  } catch (error) {
    if (isApiError(error, 404) || isApiError(error, 403)) return [];
    throw error;
  }
}
