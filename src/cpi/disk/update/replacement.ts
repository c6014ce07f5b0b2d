import { annotation, label, baseLabels } from '../../objects/labels.ts';
import { ignoreNotFound, type ObjectReference } from '../../../kubernetes/api.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import type { PersistentVolumeClaim, PersistentVolume } from '../../../kubernetes/types/storage.ts';
import type { CallContext } from '../../call.ts';
import { claimReference, isReplaced, isProvisional } from '../disks.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import { persistentVolumeClaims, pods, volumeSnapshots } from '../../../kubernetes/resources.ts';
import { requestDeletion, waitForDeletion } from '../../objects/objects.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';

/** The number of attempts if other calls or controllers change the claim between the read and the write. */
export const tries = 10;

export const replacementName = ({ metadata }: PersistentVolumeClaim): string | undefined =>
  metadata.annotations?.[annotation.copy];

/** Returns true for a disk whose replacement is being removed: that one never takes the disk's place. */
export const isDiscarded = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata.annotations?.[annotation.copyDropped] === 'true';

/** Checks a disk that other calls have changed. Rejects if it must not be marked any more. */
type Recheck = (now: PersistentVolumeClaim) => Promise<unknown>;

/**
 * Marks the disk with the name of its replacement; if two calls try at once, one succeeds. Rejects with
 * DISK_BUSY, and as `look` does, which checks the disk again if it has changed: an attach_disk that comes
 * before the mark does not know of the replacement.
 *
 * Model: update.pml
 */
export async function recordReplacement(
  call: CallContext,
  claim: PersistentVolumeClaim,
  copyName: string,
  look: Recheck,
): Promise<PersistentVolumeClaim> {
  const mark = { [annotation.copy]: copyName, [annotation.copyDropped]: null };
  const marked = await updateReplacementAnnotation(call, claim, mark, (now) => {
    if (isDiscarded(now)) throw concurrentChangeError(now);
    return look(now);
  });
  if (marked === undefined) throw concurrentChangeError(claim);
  return marked;
}

/**
 * Marks the replacement of a disk as discarded before it is deleted. From then on no call replaces the disk
 * by it. Rejects with DISK_BUSY if the disk does not name that replacement any more, or was replaced by it.
 *
 * Model: update.pml
 */
export async function markDiscarded(
  call: CallContext,
  claim: PersistentVolumeClaim,
): Promise<PersistentVolumeClaim> {
  const forsaken = await updateReplacementAnnotation(call, claim, { [annotation.copyDropped]: 'true' });
  if (forsaken === undefined) throw concurrentChangeError(claim);
  return forsaken;
}

/**
 * Removes the mark from a disk whose replacement was removed. A mark that names another replacement belongs
 * to another call and stays.
 *
 * Model: update.pml
 */
export async function unmarkCopy(call: CallContext, forsaken: PersistentVolumeClaim): Promise<void> {
  await updateReplacementAnnotation(call, forsaken, {
    [annotation.copy]: null,
    [annotation.copyDropped]: null,
  });
}

/**
 * Rejects with DISK_BUSY if the disk is not marked with that replacement any more, or the replacement is
 * being discarded. A deleted disk is accepted: another call may have put the replacement in its place.
 *
 * Model: update.pml
 */
export async function assertStillPlanned(
  call: CallContext,
  disk: PersistentVolumeClaim,
  copyName: string,
): Promise<void> {
  const now = await readAgain(call, disk);
  if (now !== undefined && (replacementName(now) !== copyName || isDiscarded(now)))
    throw concurrentChangeError(disk);
}

/** Undefined if the claim is deleted, or another one has its name. */
export async function readAgain(
  call: CallContext,
  { metadata: { name = '', uid } }: PersistentVolumeClaim,
): Promise<PersistentVolumeClaim | undefined> {
  const now = await ignoreNotFound(call.api.get<PersistentVolumeClaim>(claimReference(call, name)));
  return now?.metadata.uid === uid ? now : undefined;
}

/** The labels and annotations of a claim that a patch changes; null removes one. */
interface Marks {
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly annotations: Readonly<Record<string, string | null>>;
}

/**
 * Writes to exactly the version that was read. Returns undefined, without writing, if another call changed or
 * deleted the claim.
 */
export async function writeSeen(
  call: CallContext,
  { metadata: { name = '', resourceVersion = '' } }: PersistentVolumeClaim,
  marks: Marks,
): Promise<PersistentVolumeClaim | undefined> {
  const patch = { metadata: { resourceVersion, ...marks } };
  try {
    return await call.api.patch<PersistentVolumeClaim>(claimReference(call, name), patch);
  } catch (error) {
    if (isApiError(error, 404) || isApiError(error, 409)) return undefined;
    throw error;
  }
}

/**
 * Returns undefined, without writing, if the disk has another mark than `first`, or is replaced, terminating
 * or deleted.
 */
async function updateReplacementAnnotation(
  call: CallContext,
  first: PersistentVolumeClaim,
  annotations: Readonly<Record<string, string | null>>,
  look?: Recheck,
): Promise<PersistentVolumeClaim | undefined> {
  let claim: PersistentVolumeClaim | undefined = first;
  for (let left = tries; left > 0; left -= 1) {
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
    if (replacementName(claim) !== replacementName(first) || isReplaced(claim)) return undefined;
    if (claim !== first) await look?.(claim);
    const written = await writeSeen(call, claim, { annotations });
    if (written !== undefined) return written;
    claim = await readAgain(call, first);
  }
  throw concurrentChangeError(first);
}

export const concurrentChangeError = ({ metadata }: PersistentVolumeClaim): ProductError =>
  new ProductError(
    'DISK_BUSY',
    `disk '${metadata.name ?? ''}' was updated, attached or deleted by another call at the same time; run the call again`,
  );

/** The snapshot through which a replacement is made. */
export const copySnapshotName = (copyName: string): string => `copy-${copyName}`;

/**
 * Discards the replacement that an update_disk made, or makes, of a disk, and then its mark on the disk: the
 * replacement would miss everything that is written to the disk from now on. Marks it as discarded first, so
 * that a running update_disk does not replace the disk by it. Does nothing without a mark. Idempotent.
 * Rejects with DISK_BUSY if another call has changed the disk since it was read: its replacement may be the
 * disk then.
 *
 * Model: update.pml
 */
export async function discardReplacement(call: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  if (isReplaced(claim)) throw concurrentChangeError(claim);
  const copyName = replacementName(claim);
  if (copyName === undefined || claim.metadata.deletionTimestamp !== undefined) return;
  const forsaken = await markDiscarded(call, claim);
  await deleteReplacement(call, claim.metadata.namespace ?? '', copyName);
  await unmarkCopy(call, forsaken);
}

/**
 * Removes a replacement that no disk names, with its helper objects, unless it has taken the disk's place.
 * Only a disk that names it could still give it that place. Idempotent.
 *
 * Model: update.pml
 */
export async function removeProvisionalCopy(
  call: CallContext,
  namespace: string,
  copyName: string,
): Promise<void> {
  const reference = { resource: persistentVolumeClaims, namespace, name: copyName };
  const copy = await ignoreNotFound(call.api.get<PersistentVolumeClaim>(reference));
  if (copy === undefined || isProvisional(copy)) await deleteReplacement(call, namespace, copyName);
}

/** Removes a replacement with its helper objects. Idempotent. */
async function deleteReplacement(call: CallContext, namespace: string, copyName: string): Promise<void> {
  // a pod blocks the deletion of its claim, and a claim that waits for its volume that of the snapshot
  await removeConsumer(call, namespace, copyName);
  await deleteIf(
    call,
    { resource: persistentVolumeClaims, namespace, name: copyName },
    ({ metadata }) => metadata.labels?.[label.replaces] !== undefined,
  );
  await removeCopySnapshot(call, namespace, copyName);
}

/**
 * Removes the objects that a replacement needed while it was made. A missing one, or a missing API, is
 * success.
 */
export async function removeHelpers(call: CallContext, namespace: string, copyName: string): Promise<void> {
  await removeConsumer(call, namespace, copyName);
  await removeCopySnapshot(call, namespace, copyName);
}

const removeConsumer = (call: CallContext, namespace: string, copyName: string): Promise<void> =>
  deleteIf(call, { resource: pods, namespace, name: consumerName(copyName) }, isHelper);

const removeCopySnapshot = (call: CallContext, namespace: string, copyName: string): Promise<void> =>
  deleteIf(call, { resource: volumeSnapshots, namespace, name: copySnapshotName(copyName) }, isHelper);

async function deleteIf(
  call: CallContext,
  reference: ObjectReference,
  matches: (object: KubernetesObject) => boolean,
): Promise<void> {
  const object = await ignoreNotFound(call.api.get(reference));
  if (object === undefined || !matches(object)) return;
  const uid = object.metadata.uid ?? '';
  await requestDeletion(call, reference, uid);
  const deadlineSeconds = call.config.deadlines.deleteDisk;
  const what = `${reference.resource.plural} '${reference.name}', made for a copy,`;
  await waitForDeletion(call, { reference, uid, deadlineSeconds, what });
}

const isHelper = ({ metadata }: KubernetesObject): boolean => metadata.labels?.[label.kind] === 'copy';

export const consumerName = (claimName: string): string => `bind-${claimName}`;

export interface ConsumerPlan {
  readonly claimName: string;
  readonly namespace: string;
  /** The volume that is copied: nodes that can reach it should reach the replacement. */
  readonly source: PersistentVolume | undefined;
  readonly directorUuid: string | undefined;
}

/**
 * Returns the first consumer of a claim that waits for one (KEP-1845 follow-ups: the scheduler chooses a
 * node, the driver then makes the volume there). It need not run, so its image need not exist: it is deleted
 * as soon as the claim is bound.
 */
export function consumerPod({ claimName, namespace, source, directorUuid }: ConsumerPlan): Pod {
  const required = source?.spec.nodeAffinity?.required;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: consumerName(claimName),
      namespace,
      labels: { ...baseLabels({ directorUuid }, 'copy'), [label.diskId]: claimName },
    },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      // The disk's VM may be on any node that reaches the volume, also a cordoned one or one that is tainted
      // for it alone. Tolerating a dead node cannot be avoided: admission (DefaultTolerationSeconds) gives
      // every pod the tolerations of its NoExecute taints anyway. It costs nothing if a provisioner serves
      // the whole cluster; one of that node alone could not copy its volume either.
      tolerations: [{ operator: 'Exists' }],
      ...(required !== undefined && {
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
      }),
      containers: [
        {
          name: 'bind',
          image: 'registry.k8s.io/pause:3.10',
          resources: { requests: { cpu: '1m', memory: '1Mi' } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: [{ name: 'disk', mountPath: '/disk' }],
        },
      ],
      volumes: [{ name: 'disk', persistentVolumeClaim: { claimName } }],
    },
  };
}
