import type { DataSource, PersistentVolumeClaim, StorageClass } from '../../../kubernetes/volume.ts';
import { annotation, label } from '../../labels.ts';
import { noMetadataLabels } from '../../metadata.ts';
import type { DiskProperties } from '../claim.ts';
import { diskTypeAnnotations } from '../claim.ts';
import { parseBytes, requestedBytes } from '../claim-size.ts';
import { formerCids, isFormerCid } from '../former-cids.ts';

export interface ReplacementSpec {
  /** The cid that the caller knows the disk by. */
  readonly cid: string;
  readonly claim: PersistentVolumeClaim;
  readonly sizeMiB: number;
  readonly properties: DiskProperties;
  readonly source: StorageClass;
  readonly target: StorageClass;
  /** The class of the snapshot through which the copy is made; absent: a clone. */
  readonly snapshotClass: string | undefined;
}

/** The claim of a copy: the disk's labels and metadata, and the cid that it may stand for. Pure. */
export function buildReplacementClaim(
  order: ReplacementSpec,
  name: string,
  dataSource: DataSource,
): PersistentVolumeClaim {
  const { claim, properties, target } = order;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      namespace: claim.metadata.namespace ?? '',
      labels: {
        ...ofDisk(claim.metadata.labels ?? {}),
        ...formerCids(order.cid, claim.metadata),
        [label.diskId]: name,
        [label.provisional]: 'true',
      },
      annotations: {
        ...preservedAnnotations(claim.metadata.annotations ?? {}),
        ...diskTypeAnnotations(properties),
      },
    },
    spec: {
      accessModes: claim.spec.accessModes ?? ['ReadWriteOnce'],
      volumeMode: claim.spec.volumeMode ?? 'Filesystem',
      storageClassName: target.metadata.name ?? '',
      ...(properties.attributesClass !== undefined && {
        volumeAttributesClassName: properties.attributesClass,
      }),
      dataSource,
      resources: { requests: { storage: `${order.sizeMiB}Mi` } },
    },
  };
}

/**
 * The patch by which a copy takes the place of a disk. The copy then says of the disk what the disk's claim says by now, which may be
 * something else than when the copy was made. Pure. Model: update.pml
 */
export function standingCopy({ metadata: { labels = {}, annotations = {} } }: PersistentVolumeClaim): {
  labels: Record<string, string | null>;
  annotations: Record<string, string>;
} {
  return {
    labels: {
      ...noMetadataLabels,
      [label.unclaimed]: null,
      ...ofDisk(labels),
      [label.provisional]: null,
    },
    annotations: preservedAnnotations(annotations),
  };
}

/** True for a claim that is what `buildReplacementClaim` would make. Pure. */
export function matchesSpec(order: ReplacementSpec, { spec, metadata }: PersistentVolumeClaim): boolean {
  const kind = order.snapshotClass === undefined ? 'PersistentVolumeClaim' : 'VolumeSnapshot';
  return (
    metadata.deletionTimestamp === undefined &&
    requestedBytes({ metadata, spec }) === parseBytes(order.sizeMiB) &&
    spec.storageClassName === order.target.metadata.name &&
    spec.volumeAttributesClassName === order.properties.attributesClass &&
    spec.dataSource?.kind === kind
  );
}

/** Without the names of the disk. A VM that is gone may have left its name on it, too. */
function ofDisk(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).filter(([key]) => key !== label.vmId && key !== label.diskId && !isFormerCid(key)),
  );
}

/** What says something about the disk's own claim, and not about the disk. */
const ofClaim: readonly string[] = [
  annotation.attachment,
  annotation.attachedTo,
  annotation.copy,
  annotation.copyDropped,
  annotation.defaultClass,
  annotation.deleting,
  annotation.detachedFrom,
  annotation.giveUp,
  annotation.lock,
  annotation.replaced,
  annotation.snapshotClass,
  annotation.vmUid,
];

/** Without what is the binder's, the provisioner's and the former type's. */
function preservedAnnotations(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations).filter(
      ([key]) => !/(^|\.)kubernetes\.io\//u.test(key) && !ofClaim.includes(key),
    ),
  );
}
