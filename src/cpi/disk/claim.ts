import type { Cloud } from '../cloud.ts';
import { diskNamespaceOf } from '../cloud.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { ObjectReference } from '../../kubernetes/api.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { Json, Place } from '../input.ts';
import { at, optionalStringAt, refuseUnknownKeys, wrong } from '../input.ts';
import { annotation, baseLabels, isOurs, label } from '../labels.ts';
import { isDiskCid } from '../names.ts';

/** The part of v1.PersistentVolumeClaim that we write or read. */
export interface PersistentVolumeClaim extends KubernetesObject {
  spec: {
    accessModes: string[];
    storageClassName?: string;
    volumeMode?: 'Filesystem' | 'Block';
    volumeName?: string;
    resources: { requests: { storage: string } };
  };
  status?: { phase?: string };
}

export interface DiskProperties {
  /** Absent: the cluster's default class; empty: a static volume. */
  readonly storageClass: string | undefined;
  readonly name: string | undefined;
}

/** cloud_properties of a disk. `name` is what the director gives a dynamic disk. */
export function parseDiskProperties(properties: Json, place: Place): DiskProperties {
  refuseUnknownKeys(properties, ['storage_class', 'name'], place);
  const storageClass = properties['storage_class'] ?? undefined;
  if (storageClass !== undefined && typeof storageClass !== 'string') {
    throw wrong(at(place, 'storage_class'), 'has to be a string');
  }
  return { storageClass, name: optionalStringAt(properties['name'], at(place, 'name')) };
}

export interface ClaimPlan {
  readonly cid: string;
  readonly namespace: string;
  readonly sizeMiB: number;
  readonly properties: DiskProperties;
  readonly directorUuid: string | undefined;
}

/** The claim behind a disk, marked unclaimed until somebody attaches it or gives it metadata. */
export function diskClaim({
  cid,
  namespace,
  sizeMiB,
  properties,
  directorUuid,
}: ClaimPlan): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: cid,
      namespace,
      labels: { ...baseLabels('disk', directorUuid), [label.diskId]: cid, [label.unclaimed]: 'true' },
      ...(properties.name !== undefined && { annotations: { [annotation.diskName]: properties.name } }),
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(properties.storageClass !== undefined && { storageClassName: properties.storageClass }),
      resources: { requests: { storage: `${sizeMiB}Mi` } },
    },
  };
}

export const claimReference = (cloud: Cloud, cid: string): ObjectReference => ({
  resource: persistentVolumeClaims,
  namespace: diskNamespaceOf(cloud),
  name: cid,
});

/** The claim of a disk; undefined for a cid that names no disk of ours. */
export async function findClaim(cloud: Cloud, cid: string): Promise<PersistentVolumeClaim | undefined> {
  if (!isDiskCid(cid)) return undefined;
  try {
    const claim = await cloud.api.get<PersistentVolumeClaim>(claimReference(cloud, cid));
    return isOurs(claim, 'disk') ? claim : undefined;
  } catch (error) {
    if (isApiError(error, 404)) return undefined;
    throw error;
  }
}
