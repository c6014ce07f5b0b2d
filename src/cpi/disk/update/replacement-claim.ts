import type { Stored } from '../../../kubernetes/object.ts';
import { noMetadataLabels, label, annotation } from '../../objects/labels.ts';
import type { PersistentVolumeClaim, StorageClass, DataSource } from '../../../kubernetes/types/storage.ts';
import type { DiskProperties } from '../disk-properties.ts';
import { previousCids, isPreviousCid } from '../previous-cids.ts';
import { diskTypeAnnotations, requestedBytes, parseBytes } from '../disks.ts';

export interface ReplacementSpec {
  /** The cid by which the caller knows the disk. */
  readonly cid: string;
  readonly claim: Stored<PersistentVolumeClaim>;
  readonly sizeMiB: number;
  readonly properties: DiskProperties;
  readonly source: StorageClass;
  readonly target: StorageClass;
  /** The class of the snapshot through which the data is copied. Undefined: a clone. */
  readonly snapshotClass: string | undefined;
}

/**
 * Returns the claim of a replacement: it has the disk's labels and metadata, and the previous cid that will
 * resolve to it.
 */
export function buildReplacementClaim(
  replacementSpec: ReplacementSpec,
  name: string,
  dataSource: DataSource,
): PersistentVolumeClaim {
  const { claim, properties, target } = replacementSpec;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      namespace: claim.metadata.namespace,
      labels: {
        ...preservedLabels(claim.metadata.labels ?? {}),
        ...previousCids(replacementSpec.cid, claim.metadata),
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
      storageClassName: target.metadata.name,
      ...(properties.attributesClass !== undefined && {
        volumeAttributesClassName: properties.attributesClass,
      }),
      dataSource,
      resources: { requests: { storage: `${replacementSpec.sizeMiB}Mi` } },
    },
  };
}

/** Returns true for a claim that `buildReplacementClaim` would make. */
export function matchesSpec(
  replacementSpec: ReplacementSpec,
  { spec, metadata }: PersistentVolumeClaim,
): boolean {
  const kind = replacementSpec.snapshotClass === undefined ? 'PersistentVolumeClaim' : 'VolumeSnapshot';
  return (
    metadata.deletionTimestamp === undefined &&
    requestedBytes({ metadata, spec }) === parseBytes(replacementSpec.sizeMiB) &&
    spec.storageClassName === replacementSpec.target.metadata.name &&
    spec.volumeAttributesClassName === replacementSpec.properties.attributesClass &&
    spec.dataSource?.kind === kind
  );
}

/** Returns the labels without the cids of the disk. A deleted VM may have left its cid there, too. */
export function preservedLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).filter(
      ([key]) => key !== label.vmId && key !== label.diskId && !isPreviousCid(key),
    ),
  );
}

/** Annotations that describe the old claim and not the disk, so a replacement does not get them. */
const claimAnnotations: readonly string[] = [
  annotation.attachment,
  annotation.attachedTo,
  annotation.replacement,
  annotation.replacementDiscarded,
  annotation.defaultClass,
  annotation.deleting,
  annotation.detachedFrom,
  annotation.giveUp,
  annotation.lock,
  annotation.replaced,
  annotation.snapshotClass,
  annotation.vmUid,
];

/** Returns the annotations without those of the binder, of the provisioner and of the previous type. */
export function preservedAnnotations(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations).filter(
      ([key]) => !/(^|\.)kubernetes\.io\//u.test(key) && !claimAnnotations.includes(key),
    ),
  );
}

/**
 * Returns the patch by which a replacement takes the place of a disk. It copies the metadata that the disk's
 * claim has now, which may have changed since the replacement was made. Model: update.pml
 */
export function promotionPatch({ metadata: { labels = {}, annotations = {} } }: PersistentVolumeClaim): {
  labels: Record<string, string | null>;
  annotations: Record<string, string>;
} {
  return {
    labels: {
      ...noMetadataLabels,
      [label.unclaimed]: null,
      ...preservedLabels(labels),
      [label.provisional]: null,
    },
    annotations: preservedAnnotations(annotations),
  };
}
