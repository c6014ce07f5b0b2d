import { objectAnnotations, objectLabels } from '../bosh/object-labels.ts';
import { labelValue } from './names.ts';

const domain = 'bosh.cloudfoundry.org/';

/** Labels and annotations on our objects. Labels select; the whole truth is in annotations. */
export const label = {
  ...objectLabels,
  /** The version of our object layout, so that a later CPI knows what it meets. */
  layout: `${domain}layout`,
  agentId: `${domain}agent-id`,
  /** The director's uuid. */
  directorId: `${domain}director-id`,
  group: `${domain}group`,
  director: `${domain}director`,
  deployment: `${domain}deployment`,
  instanceGroup: `${domain}instance-group`,
  index: `${domain}index`,
  id: `${domain}id`,
  /** On a VM that counts for the budget of its group. */
  disruptionBudget: `${domain}disruption-budget`,
  /**
   * On a copy that update_disk made: the cid that its caller knows, until the caller names the copy by its
   * own.
   */
  replaces: `${domain}replaces`,
  /** On such a copy until it has taken the disk's place: no cid names it, and it may be deleted. */
  provisional: `${domain}provisional`,
} as const;

export const annotation = {
  ...objectAnnotations,
  /** What was asked for, one of each family; read by the embedded node and our static-ip wrapper. */
  ipAddress: `${domain}ip-address`,
  /** Of the VM's pod on an attachment, of its Secret on a claim. */
  vmUid: `${domain}vm-uid`,
  /** On an attachment: its VM's namespace, which need not be its own. */
  vmNamespace: `${domain}vm-namespace`,
  /** On an attachment: a former one may have left the disk in the VM (attach/has-bound.ts). */
  takesOver: `${domain}takes-over`,
  /**
   * On a claim: a value that each attach_disk under `hot` changes, so that its write is a conflict for every
   * other call.
   */
  attachment: `${domain}attachment`,
  /** On a claim: a random value that each attach_disk under `recreate` replaces (attach/disk-lock.ts). */
  lock: `${domain}lock`,
  /**
   * On the Secret and the pod of a VM under `recreate`: a random value, which changes the object's version.
   */
  changedBy: `${domain}changed-by`,
  /** On a claim: the VM that the last attach_disk under `hot` gave the disk to (disk/attach/last-vm.ts). */
  attachedTo: `${domain}attached-to`,
  /**
   * On a claim: the uid of the VM that the last detach_disk took the disk from, until the next attach_disk.
   */
  detachedFrom: `${domain}detached-from`,
  /** `true` on a claim that delete_disk deletes: that deletion is no loss. */
  deleting: `${domain}deleting`,
  /** The strategy that the VM was made with: `hot` or `recreate`. */
  attach: `${domain}attach`,
  /** On a budget: the VM whose coming or going it was changed for last. */
  settledBy: `${domain}settled-by`,
  /** Says whether a pod is what a repeated create_vm would make. */
  specDigest: `${domain}spec-digest`,
  /**
   * On a VM's Secret. `done`: its create_vm has made all of it and answers, or has answered; `abandoned`:
   * another call removes it. Absent: a create_vm is at work or was killed, or the CPI that made the VM did
   * not write this yet.
   */
  creation: `${domain}creation`,
  /** On a VM's Secret: JSON list of the Services that it has a part in. */
  services: `${domain}services`,
  /** On a Service: JSON list of the annotations that its cloud_properties gave. */
  givenAnnotations: `${domain}given-annotations`,
  /** The class that a disk's type names for its snapshots. */
  snapshotClass: `${domain}snapshot-class`,
  /**
   * `true` on a disk whose type names no storage class: it has the one that was the default when it was made.
   */
  defaultClass: `${domain}default-class`,
  /** On a disk that update_disk copies: the copy that may take its place. */
  copy: `${domain}copy`,
  /** `true` on such a disk while its copy is removed. */
  copyDropped: `${domain}copy-dropped`,
  /** `true` on such a disk once its copy has taken its place: all that is left to do is to delete it. */
  replaced: `${domain}replaced`,
  /** `true` on a claim that was deleted while it was attached: its volume may go with the attachment. */
  giveUp: `${domain}give-up`,
} as const;

/**
 * `volume`: what a VM keeps its state and /var/vcap/data on, where that is a claim; `copy`: what update_disk
 * makes for the time of its work.
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

export function baseLabels(kind: ObjectKind, directorUuid: string | undefined): Record<string, string> {
  return {
    [label.layout]: '1',
    [label.kind]: kind,
    ...(directorUuid !== undefined && { [label.directorId]: labelValue(directorUuid) }),
  };
}

/** True for an object of ours of that kind. Verbs touch nothing else, whatever cid they are given. */
export function isManaged(
  object: { metadata: { labels?: Record<string, string> } },
  kind: ObjectKind,
): boolean {
  const labels = object.metadata.labels ?? {};
  return labels[label.kind] === kind && labels[label.layout] !== undefined;
}
