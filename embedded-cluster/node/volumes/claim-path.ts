import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesObject, NamespacedObject } from '../../../src/kubernetes/object.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import { volumeAnnotations } from '../../../src/kubernetes/types/storage.ts';
import { type NodeLayout, toLocalPath } from '../node-paths.ts';
import { VolumeError } from './sub-path.ts';

interface Claim extends NamespacedObject {
  spec: { volumeName?: string };
  status?: { phase?: string };
}

interface PersistentVolume extends KubernetesObject {
  spec: { local?: { path: string }; hostPath?: { path: string }; claimRef?: { uid?: string } };
}

export interface ClaimPath {
  readonly volumeName: string;
  readonly path: string;
}

/**
 * Returns the directory behind a claim. Rejects with VolumeError while the claim is not bound, and for every
 * volume outside of the node's own `volumes` directory. `owner`: for generic ephemeral volumes, the pod that
 * must own the claim (kubelet: ephemeral volumes never use a claim that has the name by coincidence).
 */
export async function resolveVolumePath(
  api: Pick<KubernetesApi, 'get'>,
  claim: { readonly namespace: string; readonly name: string; readonly owner?: string | undefined },
  layout: NodeLayout,
): Promise<ClaimPath> {
  const object = await getClaim(api, claim.namespace, claim.name);
  const { uid, ownerReferences = [] } = object.metadata;
  if (claim.owner !== undefined && !ownerReferences.some((reference) => reference.uid === claim.owner)) {
    throw new VolumeError(`PVC ${claim.namespace}/${claim.name} was not created for pod (pod is not owner)`);
  }
  const { volumeName } = object.spec;
  if (object.status?.phase !== 'Bound' || volumeName === undefined) {
    throw new VolumeError(`PVC ${claim.namespace}/${claim.name} is not bound`);
  }
  const volume = await api.get<PersistentVolume>({ resource: persistentVolumes, name: volumeName });
  if (volume.spec.claimRef?.uid !== uid) {
    throw new VolumeError(`PV ${volumeName} is bound to another claim than ${claim.namespace}/${claim.name}`);
  }
  const path = await ownDirectory(volume, layout);
  return { volumeName, path };
}

async function ownDirectory(volume: PersistentVolume, layout: NodeLayout): Promise<string> {
  const { metadata } = volume;
  const path = volumeDirectory(volume, layout);
  if (path === undefined || dirname(path) !== layout.volumes || basename(path).startsWith('.')) {
    throw new VolumeError(`PV ${metadata.name} is not one of the embedded node's own volumes`);
  }
  if ((await realpath(path)) !== path) {
    throw new VolumeError(`${path} of PV ${metadata.name} is not a plain directory`);
  }
  return path;
}

/**
 * Returns the directory of a volume. For a volume of the controller, this is the directory of its name: an
 * earlier version wrote the path that the cluster had then.
 */
function volumeDirectory({ metadata, spec }: PersistentVolume, layout: NodeLayout): string | undefined {
  const path = spec.local?.path ?? spec.hostPath?.path;
  if (path === undefined) return undefined;
  const isOurs = metadata.annotations?.[volumeAnnotations.provisionedBy] !== undefined;
  return isOurs && basename(path) === metadata.name
    ? join(layout.volumes, metadata.name)
    : toLocalPath(layout, path);
}

async function getClaim(api: Pick<KubernetesApi, 'get'>, namespace: string, name: string): Promise<Claim> {
  try {
    return await api.get<Claim>({ resource: persistentVolumeClaims, namespace, name });
  } catch (error) {
    if (isApiError(error, 404)) {
      throw new VolumeError(`persistentvolumeclaim "${name}" not found`, { cause: error });
    }
    throw error;
  }
}
