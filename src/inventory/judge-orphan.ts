import { annotation, isManaged, label } from '../cpi/objects/labels.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import type { Orphan } from './find-orphans.ts';
import { labelOf } from './managed-objects.ts';
import type { RecordedUse, OwnerUse } from './recorded-use.ts';

/** `unused`: it was shown that the owner does not use the object. `unknown`: it was not, for this reason. */
export type Verdict =
  | { readonly is: 'unused' }
  | { readonly is: 'used'; readonly by: string }
  | { readonly is: 'unknown'; readonly why: string };

/**
 * An orphan that `orphans --delete` can delete. The next call of the CPI removes the others, or they
 * have data.
 */
export type DeletableOrphan = Orphan & { readonly what: 'VM' | 'disk' | 'snapshot' };

export const isDeletable = (orphan: Orphan): orphan is DeletableOrphan =>
  orphan.what === 'VM' || orphan.what === 'disk' || orphan.what === 'snapshot';

/**
 * A call that made an object may still be running, and its owner records it later. So an object must be
 * older than the records by more than any call or deploy lasts.
 */
export const minimumAgeMs = 24 * 60 * 60 * 1000;

export interface JudgeOptions {
  readonly use: RecordedUse;
  /** The server's clock minus ours, in milliseconds. */
  readonly clockDifferenceMs: number;
}

/** Decides whether an orphan was shown not to be in use. */
export function judgeOrphan(orphan: Orphan, { use, clockDifferenceMs }: JudgeOptions): Verdict {
  if (!isDeletable(orphan)) return unknown('this command does not delete objects of this kind');
  const { what, name, object } = orphan;
  if (!isManaged(object, what === 'VM' ? 'vm' : what)) return unknown('the CPI did not make it');
  if (object.metadata.deletionTimestamp !== undefined) return unknown('it is being deleted');
  const owner = labelOf(object, label.directorId);
  const known = owner === undefined ? undefined : use.get(owner);
  if (known === undefined) return unknown(`its owner ${owner ?? '(none recorded)'} was not given`);
  if (known.used.has(name)) return { is: 'used', by: known.source };
  const created = Date.parse(orphan.createdAt) - clockDifferenceMs;
  if (!(created + minimumAgeMs < known.recordedAt)) return unknown('it is not a day older than the records');
  const why = { VM: () => undefined, disk: whyDiskUnknown, snapshot: whySnapshotUnknown }[what](
    orphan,
    known,
  );
  return why === undefined ? { is: 'unused' } : unknown(why);
}

const unknown = (why: string): Verdict => ({ is: 'unknown', why });

/** A disk that was ever attached or described may have data, whatever its labels say now. */
function whyDiskUnknown({ object }: Orphan, { disksUnknown }: OwnerUse): string | undefined {
  return disksUnknown ?? whyDiskKept(object);
}

const tracesOfUse = [
  annotation.metadata,
  annotation.attachedTo,
  annotation.detachedFrom,
  annotation.attachment,
  annotation.vmUid,
  annotation.replacement,
  annotation.replaced,
];

/** Returns why a claim may have data or is in use; undefined if no call has ever attached or described it. */
export function whyDiskKept(claim: KubernetesObject): string | undefined {
  const { annotations = {} } = claim.metadata;
  const trace = tracesOfUse.find((name) => annotations[name] !== undefined);
  if (trace !== undefined) return `it was in use (${trace})`;
  if (labelOf(claim, label.unclaimed) === undefined) return 'it was attached or described';
  if (labelOf(claim, label.vmId) !== undefined) return 'it is attached';
  return labelOf(claim, label.provisional) === undefined ? undefined : 'it is a copy that a call is making';
}

/**
 * A director lists the snapshots of each deployment's instances, but not those of orphaned disks, and none of
 * a disk that it has lost.
 */
function whySnapshotUnknown({ object, disk }: Orphan, use: OwnerUse): string | undefined {
  const deployment = labelOf(object, label.deployment);
  if (deployment === undefined) return 'its deployment is not recorded';
  if (!use.snapshotDeployments.has(deployment))
    return `the snapshots of deployment ${deployment} were not given (bosh -d ${deployment} snapshots --json)`;
  return disk !== undefined && use.activeDisks.has(disk) ? undefined : 'its disk belongs to no instance';
}
