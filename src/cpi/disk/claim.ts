import { ignoreNotFound } from '../../kubernetes/if-there.ts';
import type { CallContext } from '../cloud.ts';
import { diskNamespaceOf } from '../cloud.ts';
import type { ObjectReference } from '../../kubernetes/api.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { DataSource, PersistentVolumeClaim } from '../../kubernetes/volume.ts';
import type { Json, Location } from '../input.ts';
import { child, optionalStringAt, rejectUnknownKeys, invalidValue } from '../input.ts';
import { annotation, baseLabels, isManaged, label } from '../labels.ts';
import { isDiskCid } from '../names.ts';
import { rejectBlockDevices } from './refuse-devices.ts';

export type { PersistentVolumeClaim };

export interface DiskProperties {
  /** Undefined: the class that was the cluster's default when the disk was made. Empty: a static volume. */
  readonly storageClass: string | undefined;
  /** VolumeSnapshotClass of the disk's snapshots. Undefined: the default of its driver. */
  readonly snapshotClass: string | undefined;
  readonly attributesClass: string | undefined;
  readonly accessMode: DiskAccessMode;
}

/**
 * One node at a time, or one pod: with the latter the scheduler keeps every other pod from the volume
 * (KEP-2485).
 */
type DiskAccessMode = 'ReadWriteOnce' | 'ReadWriteOncePod';

/** Parses the cloud_properties of a disk. */
export function parseDiskProperties(properties: Json, place: Location): DiskProperties {
  rejectBlockDevices(properties, place);
  rejectUnknownKeys(
    properties,
    ['storage_class', 'snapshot_class', 'volume_attributes_class', 'volume_mode', 'access_mode'],
    place,
  );
  const classAt = (key: string): string | undefined => readClassName(properties[key], child(place, key));
  return {
    // the empty name means static volumes
    storageClass: properties['storage_class'] === '' ? '' : classAt('storage_class'),
    snapshotClass: classAt('snapshot_class'),
    attributesClass: classAt('volume_attributes_class'),
    accessMode: readAccessMode(properties['access_mode'], child(place, 'access_mode')),
  };
}

function readAccessMode(value: unknown, place: Location): DiskAccessMode {
  const mode = optionalStringAt(value, place) ?? 'ReadWriteOnce';
  if (mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod') return mode;
  throw invalidValue(place, 'has to be ReadWriteOnce or ReadWriteOncePod');
}

function readClassName(value: unknown, place: Location): string | undefined {
  const name = optionalStringAt(value, place);
  if (name === undefined || isDnsSubdomain(name)) return name;
  throw invalidValue(place, 'has to be the name of a class, which is a DNS subdomain in lower case');
}

export interface DiskSpec {
  readonly cid: string;
  readonly namespace: string;
  readonly sizeMiB: number;
  readonly properties: DiskProperties;
  readonly directorUuid: string | undefined;
  /** The source of the volume's data. Undefined: an empty volume. */
  readonly dataSource?: DataSource;
}

/**
 * Returns the PersistentVolumeClaim of a disk. It is labelled `unclaimed` until attach_disk or
 * set_disk_metadata names it.
 */
export function buildClaim(plan: DiskSpec): PersistentVolumeClaim {
  const { cid, namespace, properties, dataSource } = plan;
  const { storageClass, attributesClass } = properties;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: cid,
      namespace,
      labels: { ...baseLabels('disk', plan.directorUuid), [label.diskId]: cid, [label.unclaimed]: 'true' },
      annotations: diskTypeAnnotations(properties),
    },
    spec: {
      accessModes: [properties.accessMode],
      ...(storageClass !== undefined && { storageClassName: storageClass }),
      ...(attributesClass !== undefined && { volumeAttributesClassName: attributesClass }),
      ...(dataSource !== undefined && { dataSource }),
      resources: { requests: { storage: `${plan.sizeMiB}Mi` } },
    },
  };
}

/** Returns annotations for those disk-type properties that a PersistentVolumeClaim has no field for. */
export const diskTypeAnnotations = ({
  storageClass,
  snapshotClass,
}: DiskProperties): Record<string, string> => ({
  ...(snapshotClass !== undefined && { [annotation.snapshotClass]: snapshotClass }),
  ...(storageClass === undefined && { [annotation.defaultClass]: 'true' }),
});

export const claimReference = (cloud: CallContext, cid: string): ObjectReference => ({
  resource: persistentVolumeClaims,
  namespace: diskNamespaceOf(cloud),
  name: cid,
});

/** Returns true for a disk whose replacement has taken its place. */
export const isReplaced = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata.annotations?.[annotation.replaced] === 'true';

/** Returns true for a replacement that has not taken the place of a disk. */
export const isProvisional = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata.labels?.[label.provisional] !== undefined;

/** Returns the claim of a disk; undefined for a cid that names no disk of the CPI. */
export async function findClaim(cloud: CallContext, cid: string): Promise<PersistentVolumeClaim | undefined> {
  if (!isDiskCid(cid)) return undefined;
  const claim = await ignoreNotFound(cloud.api.get<PersistentVolumeClaim>(claimReference(cloud, cid)));
  return claim !== undefined && isManaged(claim, 'disk') ? claim : undefined;
}
