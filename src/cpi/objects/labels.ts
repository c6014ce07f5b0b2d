import type { JsonObject } from '../../platform/json.ts';
import type { ObjectContext } from '../call.ts';
import { objectAnnotations, objectLabels } from '../../bosh/object-labels.ts';
import { labelValue } from './names.ts';

const domain = 'bosh.cloudfoundry.org/';

/** Labels and annotations of objects of the CPI. Selectors use labels; full values are in annotations. */
export const label = {
  ...objectLabels,
  /** The version of the object layout, so that a later CPI can recognize objects of this one. */
  layout: `${domain}layout`,
  group: `${domain}group`,
  director: `${domain}director`,
  deployment: `${domain}deployment`,
  instanceGroup: `${domain}instance-group`,
  index: `${domain}index`,
  id: `${domain}id`,
  /** On a VM that counts for the budget of its group. */
  disruptionBudget: `${domain}disruption-budget`,
  /** On a replacement that update_disk made: the previous cid, until a caller uses the new one. */
  replaces: `${domain}replaces`,
} as const;

export const annotation = {
  ...objectAnnotations,
  /**
   * The requested addresses, one of each family. The embedded node and the CNI plugin static-ip read them.
   */
  ipAddress: `${domain}ip-address`,
  /** On an attachment pod: the uid of the VM's pod. On a claim: the uid of the VM's Secret. */
  vmUid: `${domain}vm-uid`,
  /** On an attachment pod: the namespace of its VM, which can differ from its own. */
  vmNamespace: `${domain}vm-namespace`,
  /**
   * On an attachment pod: the disk may still be mounted in the VM from an earlier attachment pod
   * (src/cpi/disk/attach/attachment-pod-spec.ts).
   */
  adoptsMount: `${domain}takes-over`,
  /**
   * On a claim: a value that each attach_disk under `hot` changes, so that it conflicts with the write of
   * every other call.
   */
  attachment: `${domain}attachment`,
  /**
   * On a claim: a random value that each attach_disk under `recreate` replaces
   * (src/cpi/disk/attach/disk-lock.ts).
   */
  lock: `${domain}lock`,
  /**
   * On the Secret and the pod of a VM under `recreate`: a random value, which changes the object's
   * resourceVersion.
   */
  changedBy: `${domain}changed-by`,
  /**
   * On a claim: the VM that the last attach_disk under `hot` attached the disk to
   * (src/cpi/disk/attach/attachment-record.ts).
   */
  attachedTo: `${domain}attached-to`,
  /**
   * On a claim: the uid of the VM that the last detach_disk detached the disk from, until the next
   * attach_disk.
   */
  detachedFrom: `${domain}detached-from`,
  /** The strategy that the VM was made with: `hot` or `recreate`. */
  attach: `${domain}attach`,
  /** On a budget: the VM that was created or deleted when the budget was last changed. */
  budgetChangedBy: `${domain}settled-by`,
  /** A digest by which a repeated create_vm recognizes the pod that it would make. */
  specDigest: `${domain}spec-digest`,
  /** On a VM's Secret: JSON list of the Services that the VM belongs to. */
  services: `${domain}services`,
  /** On a Service: JSON list of the annotations that its cloud_properties set. */
  givenAnnotations: `${domain}given-annotations`,
  /** The class that a disk's type names for its snapshots. */
  snapshotClass: `${domain}snapshot-class`,
  /**
   * `true` on a disk whose type names no storage class: it has the class that was the default when it was
   * made.
   */
  defaultClass: `${domain}default-class`,
  /** On a disk that update_disk copies: the replacement that may take its place. */
  replacement: `${domain}copy`,
  /** `true` on such a disk while its replacement is removed. */
  replacementDiscarded: `${domain}copy-dropped`,
  /**
   * `true` on such a disk once its replacement has taken its place: only the deletion of the disk remains.
   */
  replaced: `${domain}replaced`,
  /**
   * `true` on a claim that was deleted while it was attached: its volume may be deleted with the attachment
   * pod.
   */
  giveUp: `${domain}give-up`,
} as const;

/**
 * `volume`: a claim for a VM's state and /var/vcap/data, if the VM has one. `copy`: an object that
 * update_disk makes for the time of its work.
 */
export type ObjectKind =
  | 'vm'
  | 'disk'
  | 'attachment'
  | 'volume'
  | 'snapshot'
  | 'copy'
  | 'service'
  | 'network'
  | 'budget';

/** Returns the labels that every object of the CPI has. */
export function baseLabels(
  { directorUuid }: Pick<ObjectContext, 'directorUuid'>,
  kind: ObjectKind,
): Record<string, string> {
  return {
    [label.layout]: '1',
    [label.kind]: kind,
    ...(directorUuid !== undefined && { [label.directorId]: labelValue(directorUuid) }),
  };
}

/**
 * Returns true for an object of that kind that the CPI manages. Methods never change other objects, even if a
 * cid names one.
 */
export function isManaged(
  object: { metadata: { labels?: Record<string, string> } },
  kind: ObjectKind,
): boolean {
  const labels = object.metadata.labels ?? {};
  return labels[label.kind] === kind && labels[label.layout] !== undefined;
}

/**
 * Labels that are made of metadata, each with the names that callers use for it. The first name that is
 * present wins.
 */
const metadataLabels: Readonly<Record<string, readonly string[]>> = {
  [label.director]: ['director'],
  [label.deployment]: ['deployment'],
  [label.instanceGroup]: ['instance_group', 'job'],
  [label.index]: ['index', 'instance_index'],
  [label.id]: ['id', 'instance_id'],
};

/** The part of a patch that removes all metadata labels from an object. */
export const noMetadataLabels: Readonly<Record<string, null>> = Object.fromEntries(
  Object.keys(metadataLabels).map((name) => [name, null]),
);

/**
 * Returns a merge patch that replaces the BOSH metadata of an object. Selectable keys become labels; the
 * whole becomes one annotation. Labels of keys that are absent now are removed.
 */
export function metadataPatch(
  metadata: JsonObject,
  extraLabels: Readonly<Record<string, string | null>> = {},
): { metadata: { labels: Record<string, string | null>; annotations: Record<string, string> } } {
  const labels = Object.entries(metadataLabels).map(([name, keys]) => {
    const value = keys.map((key) => metadata[key]).find((found) => found !== undefined && found !== null);
    return [name, value === undefined ? null : labelValue(toText(value))] as const;
  });
  return {
    metadata: {
      labels: { ...Object.fromEntries(labels), ...extraLabels },
      annotations: { [annotation.metadata]: JSON.stringify(metadata) },
    },
  };
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
