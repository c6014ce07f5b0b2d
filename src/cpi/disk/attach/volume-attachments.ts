import { ifReadable, type Resource } from '../../../kubernetes/api.ts';
import type { KubernetesObject, Stored } from '../../../kubernetes/object.ts';
import { persistentVolumes } from '../../../kubernetes/resources.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../kubernetes/types/storage.ts';
import type { CallContext } from '../../call.ts';
import { waitForDeletion } from '../../objects/objects.ts';
import { sha256 } from '../../objects/names.ts';

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
 * Waits until the storage driver has detached the disk's volume from the node. Otherwise an attach on another
 * node hangs. `node` undefined: any node. Returns whether the volume was attached there. Does not wait if the
 * cluster has no VolumeAttachments, or if the CPI's role may not list them (manifests/rbac/cluster.yaml).
 */
export async function waitUntilOffNode(
  call: CallContext,
  { metadata: { name: diskCid }, spec: { volumeName } }: PersistentVolumeClaim,
  node: string | undefined,
): Promise<boolean> {
  if (volumeName === undefined) return false;
  const remaining = await volumeAttachmentsOf(call, volumeName, node);
  await Promise.all(
    remaining.map(({ metadata: { name, uid }, spec }) =>
      waitForDeletion(call, {
        reference: { resource: volumeAttachments, name },
        uid,
        deadlineSeconds: call.config.deadlines.detachDisk,
        what: `the storage driver's attachment of disk '${diskCid}' to node ${spec.nodeName}`,
      }),
    ),
  );
  return remaining.length > 0;
}

/**
 * Waits until the storage driver has detached the volume from every node. A disk that no VM has may still be
 * mounted on a node if its attachment pod was force-deleted, or by a pod that the CPI does not manage. A
 * kubelet keeps a volume attached that is mounted anywhere on its node.
 */
export async function waitUntilOnNoNode(call: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  await waitUntilOffNode(call, claim, undefined);
}

/** Reads all VolumeAttachments of the cluster only if the name of the needed one is not known. */
async function volumeAttachmentsOf(
  call: CallContext,
  volumeName: string,
  node: string | undefined,
): Promise<Stored<VolumeAttachment>[]> {
  const volume = await ifReadable(
    call.api.get<PersistentVolume>({ resource: persistentVolumes, name: volumeName }),
  );
  if (volume !== undefined && driverSkipsAttach(volume)) return [];
  const name = node === undefined ? undefined : csiAttachmentName(volume, node);
  const query = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
  const found = await ifReadable(call.api.list<VolumeAttachment>(volumeAttachments, query));
  return (found?.items ?? []).filter(
    ({ spec }) =>
      spec.source.persistentVolumeName === volumeName && (node === undefined || spec.nodeName === node),
  );
}

/**
 * Returns true for a volume whose plugin has no attacher (kubernetes: pkg/volume,
 * FindAttachablePluginBySpec).
 */
const driverSkipsAttach = ({ spec: { hostPath, local, nfs } }: PersistentVolume): boolean =>
  (hostPath ?? local ?? nfs) !== undefined;

/**
 * Returns the name that the attach-detach controller gives a VolumeAttachment (kubernetes: pkg/volume/csi,
 * getAttachmentName). Undefined for a volume of a previous in-tree plugin: the controller derives its handle
 * from its source (csi-translation-lib).
 */
function csiAttachmentName(volume: PersistentVolume | undefined, node: string): string | undefined {
  const { driver, volumeHandle } = volume?.spec.csi ?? {};
  return driver === undefined || volumeHandle === undefined
    ? undefined
    : `csi-${sha256(`${volumeHandle}${driver}${node}`)}`;
}
