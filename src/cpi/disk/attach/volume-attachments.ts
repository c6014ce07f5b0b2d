import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Resource } from '../../../kubernetes/api.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
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
 * another node stalls. Nothing is waited for where the cluster has no VolumeAttachments, the CPI's role may not list
 * them (manifests/rbac/cluster.yaml), or the node is not known.
 */
export async function waitUntilVolumeDetached(
  cloud: Cloud,
  diskCid: string,
  node: string | undefined,
): Promise<void> {
  if (node === undefined) return;
  const volume = (await findClaim(cloud, diskCid))?.spec.volumeName;
  if (volume === undefined) return;
  const left = (await listVolumeAttachments(cloud)).filter(
    ({ spec }) => spec.source.persistentVolumeName === volume && spec.nodeName === node,
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
}

async function listVolumeAttachments(cloud: Cloud): Promise<VolumeAttachment[]> {
  try {
    return (await cloud.api.list<VolumeAttachment>(volumeAttachments)).items;
  } catch (error) {
    if (isApiError(error, 404) || isApiError(error, 403)) return [];
    throw error;
  }
}
