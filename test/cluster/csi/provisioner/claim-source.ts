import * as resources from '../../../../src/kubernetes/resources.ts';
import { isApiError } from '../../../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi, ObjectReference } from '../../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../../src/kubernetes/object.ts';
import { parseQuantity } from '../../../../src/kubernetes/types/quantity.ts';
import type {
  VolumeSnapshot,
  VolumeSnapshotContent,
  PersistentVolume,
  PersistentVolumeClaim,
} from '../../../../src/kubernetes/types/storage.ts';
import type { VolumeContentSource } from '../grpc/messages.ts';

/**
 * Returns the source of a claim as the driver names it, or undefined for an empty volume. Rejects if the
 * source does not exist, is not ready, belongs to another driver or is larger than the claim. The claim is
 * then tried again.
 */
export async function claimSource(
  api: KubernetesApi,
  claim: PersistentVolumeClaim,
  driverName: string,
): Promise<VolumeContentSource | undefined> {
  const reference = claim.spec.dataSourceRef ?? claim.spec.dataSource;
  if (reference === undefined) return undefined;
  const { namespace = '' } = claim.metadata;
  const { kind, name } = reference;
  const source = `${kind} ${namespace}/${name}`;
  switch (kind) {
    case 'VolumeSnapshot': {
      const reader = { api, source, driverName };
      return { snapshot: { snapshotId: await snapshotId(reader, { namespace, name }, requestOf(claim)) } };
    }
    case 'PersistentVolumeClaim': {
      const reader = { api, source, driverName };
      return { volume: { volumeId: await volumeId(reader, { namespace, name }, requestOf(claim)) } };
    }
    default:
      throw new Error(`${source} is nothing that ${driverName} can fill a volume from`);
  }
}

interface Reader {
  readonly api: KubernetesApi;
  readonly source: string;
  readonly driverName: string;
}

interface Place {
  readonly namespace: string;
  readonly name: string;
}

async function snapshotId(
  { api, source, driverName }: Reader,
  place: Place,
  request: bigint,
): Promise<string> {
  const snapshot = await find<VolumeSnapshot>(api, { resource: resources.volumeSnapshots, ...place });
  const { boundVolumeSnapshotContentName = '', readyToUse } = snapshot?.status ?? {};
  if (snapshot?.metadata.deletionTimestamp !== undefined) throw new Error(`${source} is being deleted`);
  if (readyToUse !== true) throw new Error(`${source} is not ready to use`);
  const content = await find<VolumeSnapshotContent>(api, {
    resource: resources.volumeSnapshotContents,
    name: boundVolumeSnapshotContentName,
  });
  const handle = content?.status?.snapshotHandle;
  if (content === undefined || handle === undefined) throw new Error(`${source} has no content`);
  if (content.spec.driver !== driverName) throw new Error(`${source} is of driver ${content.spec.driver}`);
  if (request < BigInt(content.status?.restoreSize ?? 0))
    throw new Error(`${source} is larger than the claim`);
  return handle;
}

async function volumeId({ api, source, driverName }: Reader, place: Place, request: bigint): Promise<string> {
  const claim = await find<PersistentVolumeClaim>(api, {
    resource: resources.persistentVolumeClaims,
    ...place,
  });
  if (claim?.metadata.deletionTimestamp !== undefined) throw new Error(`${source} is being deleted`);
  if (claim?.status?.phase !== 'Bound') throw new Error(`${source} is not bound`);
  const volume = await find<PersistentVolume>(api, {
    resource: resources.persistentVolumes,
    name: claim.spec.volumeName ?? '',
  });
  const handle = volume?.spec.csi?.volumeHandle;
  if (volume?.spec.csi?.driver !== driverName || handle === undefined) {
    throw new Error(`${source} is of another driver`);
  }
  if (request < sizeOf(volume.spec.capacity)) throw new Error(`${source} is larger than the claim`);
  return handle;
}

async function find<T extends KubernetesObject>(
  api: KubernetesApi,
  reference: ObjectReference,
): Promise<T | undefined> {
  try {
    return await api.get<T>(reference);
  } catch (error) {
    if (isApiError(error, 404)) return undefined;
    throw error;
  }
}

/** Returns the requested size of the claim in bytes. */
export function requestOf(claim: PersistentVolumeClaim): bigint {
  return sizeOf(claim.spec.resources?.requests);
}

function sizeOf(quantities: Record<string, string> | undefined): bigint {
  return parseQuantity(quantities?.['storage'] ?? '0') ?? 0n;
}
